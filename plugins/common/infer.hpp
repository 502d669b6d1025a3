// Shape rules of new ops as functions over views: def.infer = rule<fn>(), fn(const Views&, Results&). An exception becomes a status;
// the core puts the op's name in front.
#ifndef TENON_PLUGINS_COMMON_INFER_HPP
#define TENON_PLUGINS_COMMON_INFER_HPP

#include <initializer_list>
#include <string>

#include "dtype.hpp"
#include "tenon/plugin.hpp"

namespace tenon {
namespace host __attribute__((visibility("hidden"))) {

  using Sizes = std::span<const int64_t>;

  inline std::string text_of(Sizes shape) {
    std::string text = "(";
    for (const int64_t size : shape)
      text += std::to_string(size) + (shape.size() == 1 ? "," : ", ");
    if (shape.size() > 1) text.resize(text.size() - 2);
    return text + ")";
  }
  inline tn_dtype real_of(tn_dtype dtype) {
    return dtype == TN_DTYPE_C64 ? TN_DTYPE_F32 : dtype == TN_DTYPE_C128 ? TN_DTYPE_F64 : dtype;
  }
  inline tn_dtype complex_of(tn_dtype dtype) {
    return dtype == TN_DTYPE_F32 ? TN_DTYPE_C64 : dtype == TN_DTYPE_F64 ? TN_DTYPE_C128 : dtype;
  }

  // The arguments of a call without their elements.
  class Views {
   public:
    Views(const tn_value* args, uint32_t count) : args_(args, count) {}
    bool has(uint32_t i) const { return args_[i].tag != TN_VALUE_NONE; }
    const tn_view& view(uint32_t i) const { return *args_[i].as.view; }
    Sizes shape(uint32_t i) const { return sdk::shape(view(i)); }
    tn_dtype dtype(uint32_t i) const { return view(i).dtype; }
    int64_t integer(uint32_t i) const { return args_[i].as.i; }
    bool flag(uint32_t i) const { return args_[i].as.i != 0; }
    Sizes ints(uint32_t i) const { return {args_[i].as.ints, args_[i].count}; }
    std::string_view str(uint32_t i) const { return {args_[i].as.str, args_[i].count}; }

   private:
    std::span<const tn_value> args_;
  };

  class Results {
   public:
    explicit Results(tn_result* const* results) : results_(results) {}
    // Sets result k to the sizes of a batch followed by the sizes of one entry.
    void set(uint32_t k, tn_dtype dtype, Sizes batch,
             std::initializer_list<int64_t> sizes = {}) const {
      tn_result& out = *results_[k];
      if (batch.size() + sizes.size() > TN_MAX_DIMS)
        sdk::fail(TN_INVALID_ARGUMENT, "the result would have ", batch.size() + sizes.size(),
                  " dimensions; at most ", TN_MAX_DIMS, " are possible");
      out.dtype = dtype;
      out.ndim = 0;
      for (const int64_t size : batch) out.shape[out.ndim++] = size;
      for (const int64_t size : sizes) out.shape[out.ndim++] = size;
    }

   private:
    tn_result* const* results_;
  };

  template <void (*fn)(const Views&, const Results&)>
  constexpr auto rule() {
    return [](void*, const tn_value* args, uint32_t count, tn_result* const* results,
              uint32_t) -> tn_status* {
      return sdk::guard([&] { fn(Views(args, count), Results(results)); });
    };
  }

}  // namespace host
}  // namespace tenon
#endif
