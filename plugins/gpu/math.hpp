// Float functions as elementwise kernels. Their arithmetic costs more than a conversion, so one kernel serves both half types and tells
// them apart at run time: three kernels for four dtypes.
#pragma once

#include "elementwise.hpp"

namespace tenon::gpu {

// Applies fn to floats, given the bits of halves.
template <class Fn>
struct OnHalves {
  Fn fn;
  bool is_brain;
  GPU_FN float widened(int32_t bits) const {
    return is_brain ? widen(BFloat16{static_cast<uint16_t>(bits)})
                    : widen(Half{static_cast<uint16_t>(bits)});
  }
  template <class... Bits>
  GPU_FN int32_t operator()(Bits... bits) const {
    const float y = fn(widened(bits)...);
    return is_brain ? narrow<BFloat16>(y).bits : narrow<Half>(y).bits;
  }
};

template <class T, uint32_t kInputs, class Fn>
void run_on(const tn_call& call, const Fn& fn) {
  if constexpr (kInputs == 1) run_elementwise<T, T>(call, fn);
  if constexpr (kInputs == 2) run_elementwise<T, T, T>(call, fn);
}

// make(TypeTag<C>) returns the functor for C, float or double. Runs it over the call's loop, whose operands all have the output's dtype.
template <uint32_t kInputs, class Make>
void run_math(const tn_call& call, const Make& make) {
  const tn_dtype dtype = output(call).dtype;
  if (dtype == TN_DTYPE_F64) return run_on<double, kInputs>(call, make(TypeTag<double>{}));
  const auto fn = make(TypeTag<float>{});
  if (dtype == TN_DTYPE_F32) return run_on<float, kInputs>(call, fn);
  run_on<uint16_t, kInputs>(
      call, OnHalves<std::remove_const_t<decltype(fn)>>{fn, dtype == TN_DTYPE_BF16});
}

template <template <class> class Fn, uint32_t kInputs>
void add_math(KernelList& list, std::string_view schema) {
  list.add_elementwise(schema, Floats::kMask, [](const tn_call& call, uint32_t) {
    run_math<kInputs>(call, [](auto tag) { return Fn<typename decltype(tag)::type>{}; });
  });
}

}  // namespace tenon::gpu
