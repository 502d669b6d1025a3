// Kernels as functions over typed spans: kernel<relu>("relu(Tensor x) -> Tensor @1") of
//
//   void relu(std::span<const float> x, std::span<float> y)
//
// Parameters follow the schema: its arguments, then its results. A tensor is a span, or an Array where the shape matters; const
// elements for an argument, others for a result; std::optional of either where the schema says Tensor?. Attributes are int64_t,
// double, bool, std::string_view, tn_dtype or a span of const int64_t. The dtypes in the signature are those the kernel is
// registered for, and calls with other layouts (gaps, broadcasts) go to the next kernel. Include tenon/plugin.hpp.
#ifndef TENON_SDK_TYPED_KERNEL_HPP
#define TENON_SDK_TYPED_KERNEL_HPP

#include <array>
#include <optional>

#include "tenon/kernel_call.hpp"

namespace tenon {
namespace sdk __attribute__((visibility("hidden"))) {

  // A contiguous tensor with its shape: x(i, j), or x.elements() row by row.
  template <class T>
  class Array {
   public:
    using element_type = T;
    explicit Array(const tn_view& view) : view_(&view) {}
    uint32_t ndim() const { return view_->ndim; }
    std::span<const int64_t> shape() const { return sdk::shape(*view_); }
    // Counted from the end if negative: shape(-1) is the size of the last dimension.
    int64_t shape(int64_t d) const {
      return view_->shape[d < 0 ? d + static_cast<int64_t>(view_->ndim) : d];
    }
    int64_t size() const { return numel(*view_); }
    T* data() const { return sdk::data<T>(*view_); }
    std::span<T> elements() const { return sdk::elements<T>(*view_); }
    template <class... Index>
    T& operator()(Index... index) const {
      return at<T>(*view_, index...);
    }

   private:
    const tn_view* view_;
  };

  namespace typed {

  template <class P>
  struct Tensor : std::false_type {};
  template <class T>
  struct Tensor<std::span<T>> : std::true_type {
    using Element = T;
    static std::span<T> make(const tn_view& view) { return elements<T>(view); }
  };
  template <class T>
  struct Tensor<Array<T>> : std::true_type {
    using Element = T;
    static Array<T> make(const tn_view& view) { return Array<T>(view); }
  };
  template <class P>
  struct Tensor<std::optional<P>> : Tensor<P> {
    static std::optional<P> make(const tn_view& view) { return Tensor<P>::make(view); }
  };
  template <class P>
  concept IsTensor = Tensor<P>::value;
  template <class P>
  concept IsResult = IsTensor<P> && !std::is_const_v<typename Tensor<P>::Element>;
  template <class P>
  inline constexpr tn_dtype kDtype = dtype_of<std::remove_const_t<typename Tensor<P>::Element>>;

  // The parameter's value in a call. `i` is its position among the arguments, or among the results if it is one.
  template <class P>
  P take(const Call& call, uint32_t i) {
    if constexpr (IsResult<P>) {
      return Tensor<P>::make(call.out(i));
    } else if constexpr (std::is_same_v<P, std::span<const int64_t>>) {
      return call.arg(i).tag == TN_VALUE_INTS ? call.ints(i) : elements<const int64_t>(call.in(i));
    } else if constexpr (IsTensor<P>) {
      if constexpr (std::is_constructible_v<P, std::nullopt_t>)
        if (!call.has(i)) return std::nullopt;
      return Tensor<P>::make(call.in(i));
    } else if constexpr (std::is_same_v<P, bool>) {
      return call.flag(i);
    } else if constexpr (std::is_floating_point_v<P>) {
      return static_cast<P>(call.real(i));
    } else if constexpr (std::is_integral_v<P>) {
      return static_cast<P>(call.integer(i));
    } else {
      static_assert(std::is_same_v<P, std::string_view>,
                    "a parameter of a kernel is a span, an Array, a number or a string_view");
      return call.str(i);
    }
  }

  // Whether the argument or result is what the signature asks for.
  template <class P>
  bool fits(const tn_call& call, uint32_t i) {
    if constexpr (IsTensor<P>) {
      const tn_view* view = nullptr;
      if constexpr (IsResult<P>) {
        view = i < call.nouts ? call.outs[i] : nullptr;
      } else if (i < call.nargs) {
        const tn_value& value = call.args[i];
        if (value.tag == TN_VALUE_NONE) return std::is_constructible_v<P, std::nullopt_t>;
        if (value.tag == TN_VALUE_INTS) return std::is_same_v<P, std::span<const int64_t>>;
        if (value.tag == TN_VALUE_VIEW) view = value.as.view;
      }
      return view != nullptr && view->dtype == kDtype<P>;
    } else {
      return i < call.nargs && call.args[i].tag != TN_VALUE_NONE;
    }
  }

  // Sorts a kernel's parameters into arguments, which come first, and results.
  template <class... P>
  struct Signature {
    static constexpr uint32_t kResults = (0 + ... + (IsResult<P> ? 1 : 0));
    static constexpr uint32_t kArgs = sizeof...(P) - kResults;
    static constexpr uint32_t place(uint32_t k) { return k < kArgs ? k : k - kArgs; }
    static constexpr bool ordered() {
      uint32_t k = 0;
      return (true && ... && (IsResult<P> == (k++ >= kArgs)));
    }
    // The first tensor's dtype chooses the kernel, or the result's if there is no tensor.
    static constexpr uint64_t mask() {
      uint64_t found = 0;
      const auto add = [&]<class Q>(std::type_identity<Q>) {
        if constexpr (IsTensor<Q>)
          if (found == 0) found = uint64_t{1} << kDtype<Q>;
      };
      (add(std::type_identity<P>{}), ...);
      return found;
    }
    // Calls a function with these parameters.
    template <auto fn>
    static auto call(const tn_call& raw) {
      const Call from(raw);
      return [&]<size_t... K>(std::index_sequence<K...>) { return fn(take<P>(from, place(K))...); }
      (std::index_sequence_for<P...>());
    }
    // Flat arrays: elementwise operands must have no gaps; other inputs arrive contiguous.
    static bool fit(const tn_call& call) {
      if (call.loop != nullptr && (call.flags & TN_CALL_CONTIGUOUS) == 0) return false;
      return [&]<size_t... K>(std::index_sequence<K...>) {
        return (true && ... && fits<P>(call, place(K)));
      }
      (std::index_sequence_for<P...>());
    }
  };
  template <class... P>
  Signature<P...> signature_of(void (*)(P...));

  }  // namespace typed
}  // namespace sdk
}  // namespace tenon
#endif
