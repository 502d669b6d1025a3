// sigmoid and tanh of vectors of either precision.
#if defined(TENON_CPU_SIGMOID_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_SIGMOID_INL
#undef TENON_CPU_SIGMOID_INL
#else
#define TENON_CPU_SIGMOID_INL
#endif

#include <hwy/highway.h>

#include <cmath>

#include "simd/math-inl.hpp"
#include "simd/wide-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

template <class D>
inline constexpr bool kSingle = sizeof(hn::TFromD<D>) == 4;

template <class D, class V>
HWY_INLINE V any_sigmoid(D d, V x, V& complement) {
  if constexpr (kSingle<D>) {
    return sigmoid_f32(d, x, complement);
  } else {
    const auto sigmoid = [](double v) {
      const double e = std::exp(-std::abs(v));
      return v < 0 ? e / (1 + e) : 1 / (1 + e);
    };
    complement = each_lane(d, hn::Neg(x), sigmoid);
    return each_lane(d, x, sigmoid);
  }
}
template <class D, class V>
HWY_INLINE V any_sigmoid(D d, V x) {
  V unused;
  return any_sigmoid(d, x, unused);
}
template <class D, class V>
HWY_INLINE V any_tanh(D d, V x) {
  if constexpr (kSingle<D>)
    return tanh_f32(d, x);
  else
    return each_lane(d, x, [](double v) { return std::tanh(v); });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
