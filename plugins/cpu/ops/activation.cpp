// The activations that linear fuses, over what the product just wrote.
#include "ops/activation.hpp"

#include <algorithm>
#include <cmath>

#include "threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 1 / (1 + e^-x); e^-x overflows to infinity, which gives the 0 it should.
template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1);
  return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(x))));
}

template <class T>
void activate_range(Activation activation, T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto apply = [&](auto f) HWY_ATTR {
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, x + i);
    if (i < n) {
      alignas(64) T rest[HWY_MAX_BYTES / sizeof(T)] = {};
      std::copy(x + i, x + n, rest);
      hn::Store(f(hn::Load(d, rest)), d, rest);
      std::copy(rest, rest + (n - i), x + i);
    }
  };
  using V = hn::Vec<decltype(d)>;
  switch (activation) {
    case Activation::Sigmoid:
      return apply([d](V v) HWY_ATTR { return sigmoid(d, v); });
    case Activation::Silu:
      return apply([d](V v) HWY_ATTR { return hn::Mul(v, sigmoid(d, v)); });
    case Activation::Tanh:
      return apply([d](V v) HWY_ATTR { return hn::Tanh(d, v); });
    case Activation::Gelu:
      for (int64_t i = 0; i < n; ++i)
        x[i] = T(0.5) * x[i] * (T(1) + std::erf(x[i] * T(0.70710678118654752440)));
      return;
    default:
      return apply([d](V v)
                       HWY_ATTR { return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Zero(d), v); });
  }
}

void activate_f32(Activation activation, float* x, int64_t n) { activate_range(activation, x, n); }
void activate_f64(Activation activation, double* x, int64_t n) { activate_range(activation, x, n); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(activate_f32);
HWY_EXPORT(activate_f64);

void activate(Activation activation, float* x, int64_t n) {
  parallel_for(n, kGrainMath, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(activate_f32)(activation, x + begin, end - begin);
  });
}
void activate(Activation activation, double* x, int64_t n) {
  parallel_for(n, kGrainMath, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(activate_f64)(activation, x + begin, end - begin);
  });
}

}  // namespace tenon::cpu
#endif
