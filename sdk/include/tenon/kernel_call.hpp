// Typed access to the arguments of a kernel's call, and a loop for elementwise kernels.
#ifndef TENON_SDK_KERNEL_CALL_HPP
#define TENON_SDK_KERNEL_CALL_HPP

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/plugin.h"

namespace tenon {
namespace sdk __attribute__((visibility("hidden"))) {

  template <class T>
  inline constexpr tn_dtype dtype_of = std::is_same_v<T, bool>       ? TN_DTYPE_BOOL
                                       : std::is_same_v<T, uint8_t>  ? TN_DTYPE_U8
                                       : std::is_same_v<T, uint16_t> ? TN_DTYPE_U16
                                       : std::is_same_v<T, uint32_t> ? TN_DTYPE_U32
                                       : std::is_same_v<T, uint64_t> ? TN_DTYPE_U64
                                       : std::is_same_v<T, int8_t>   ? TN_DTYPE_I8
                                       : std::is_same_v<T, int16_t>  ? TN_DTYPE_I16
                                       : std::is_same_v<T, int32_t>  ? TN_DTYPE_I32
                                       : std::is_same_v<T, int64_t>  ? TN_DTYPE_I64
                                       : std::is_same_v<T, float>    ? TN_DTYPE_F32
                                       : std::is_same_v<T, double>   ? TN_DTYPE_F64
                                                                     : TN_DTYPE_COUNT;

  inline int64_t numel(const tn_view& view) {
    int64_t count = 1;
    for (uint32_t d = 0; d < view.ndim; ++d) count *= view.shape[d];
    return count;
  }
  inline std::span<const int64_t> shape(const tn_view& view) { return {view.shape, view.ndim}; }
  inline std::span<const int64_t> strides(const tn_view& view) { return {view.strides, view.ndim}; }
  // The first element, in addressable memory or of a host scalar.
  template <class T>
  T* data(const tn_view& view) {
    return static_cast<T*>(view.data);
  }
  // The elements of a contiguous view.
  template <class T>
  std::span<T> elements(const tn_view& view) {
    return {static_cast<T*>(view.data), static_cast<size_t>(numel(view))};
  }
  // One element by its indices: at<float>(view, i, j).
  template <class T, class... Index>
  T& at(const tn_view& view, Index... index) {
    int64_t offset = 0;
    uint32_t d = 0;
    ((offset += static_cast<int64_t>(index) * view.strides[d++]), ...);
    return static_cast<T*>(view.data)[offset];
  }

  // The arguments of a call, by their positions in the schema.
  class Call {
   public:
    explicit Call(const tn_call& call) : call_(call) {}
    const tn_call& raw() const { return call_; }
    const tn_view& out(uint32_t k = 0) const { return *call_.outs[k]; }
    uint32_t nouts() const { return call_.nouts; }
    const tn_value& arg(uint32_t i) const { return call_.args[i]; }
    bool has(uint32_t i) const { return call_.args[i].tag != TN_VALUE_NONE; }
    const tn_view& in(uint32_t i) const { return *call_.args[i].as.view; }
    const tn_view* in_or_null(uint32_t i) const { return has(i) ? call_.args[i].as.view : nullptr; }
    std::span<const tn_view* const> ins(uint32_t i) const {
      return {call_.args[i].as.views, call_.args[i].count};
    }
    int64_t integer(uint32_t i) const { return call_.args[i].as.i; }
    bool flag(uint32_t i) const { return call_.args[i].as.i != 0; }
    tn_dtype dtype(uint32_t i) const { return static_cast<tn_dtype>(call_.args[i].as.i); }
    double real(uint32_t i) const {
      const tn_value& value = call_.args[i];
      if (value.tag == TN_VALUE_FLOAT) return value.as.f;
      return value.tag == TN_VALUE_COMPLEX ? value.as.floats[0] : static_cast<double>(value.as.i);
    }
    std::string_view str(uint32_t i) const { return {call_.args[i].as.str, call_.args[i].count}; }
    std::span<const int64_t> ints(uint32_t i) const {
      return {call_.args[i].as.ints, call_.args[i].count};
    }
    // Seed and first block of a generator argument: see tenon/philox.hpp.
    uint64_t seed(uint32_t i) const { return static_cast<uint64_t>(call_.args[i].as.ints[0]); }
    uint64_t offset(uint32_t i) const { return static_cast<uint64_t>(call_.args[i].as.ints[1]); }
    const tn_loop* loop() const { return call_.loop; }
    bool contiguous() const { return (call_.flags & TN_CALL_CONTIGUOUS) != 0; }
    template <class T>
    T* scratch() const {
      return static_cast<T*>(call_.scratch);
    }

   private:
    const tn_call& call_;
  };

  // out[…] = f(in[…]…) over the loop of an elementwise call, whose operands are out and then the tensor arguments 0, 1, ….
  template <class Out, class... In, class F>
  void map(const Call& call, F&& f) {
    constexpr uint32_t kOperands = 1 + sizeof...(In);
    const tn_loop& loop = *call.loop();
    const int64_t size[kOperands] = {sizeof(Out), sizeof(In)...};
    const uint32_t outer = loop.ndim == 0 ? 0 : loop.ndim - 1;
    const int64_t inner = loop.ndim == 0 ? 1 : loop.shape[outer];
    int64_t rows = 1;
    for (uint32_t d = 0; d < outer; ++d) rows *= loop.shape[d];
    for (int64_t row = 0; row < rows; ++row) {
      char* start[kOperands];
      int64_t step[kOperands];
      for (uint32_t k = 0; k < kOperands; ++k) {
        int64_t rest = row, offset = 0;
        for (uint32_t d = outer; d-- > 0; rest /= loop.shape[d])
          offset += rest % loop.shape[d] * loop.strides[k][d];
        start[k] = data<char>(k == 0 ? call.out() : call.in(k - 1)) + offset * size[k];
        step[k] = loop.ndim == 0 ? 0 : loop.strides[k][outer] * size[k];
      }
      [&]<size_t... K>(std::index_sequence<K...>) {
        for (int64_t i = 0; i < inner; ++i)
          *reinterpret_cast<Out*>(start[0] + i * step[0]) =
              f(*reinterpret_cast<const In*>(start[K + 1] + i * step[K + 1])...);
      }
      (std::index_sequence_for<In...>());
    }
  }

}  // namespace sdk
}  // namespace tenon
#endif
