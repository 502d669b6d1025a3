// The activations that linear fuses, over what the product just wrote.
#include "ops/matmul_activation.hpp"

#include <algorithm>
#include <cmath>

#include "threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul_activation.cpp"
#include <hwy/foreach_target.h>

#include "simd/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void activate_range(Activation activation, float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto apply = [&](auto f) HWY_ATTR {
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, x + i);
    if (i < n) {
      alignas(64) float rest[HWY_MAX_BYTES / sizeof(float)] = {};
      std::copy(x + i, x + n, rest);
      hn::Store(f(hn::Load(d, rest)), d, rest);
      std::copy(rest, rest + (n - i), x + i);
    }
  };
  switch (activation) {
    case kNone:
      return;
    case kRelu:
      return apply([d](V v)
                       HWY_ATTR { return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Zero(d), v); });
    case kSigmoid:
      return apply([d](V v) HWY_ATTR {
        V complement;
        return sigmoid_f32(d, v, complement);
      });
    case kSilu:
      return apply([d](V v) HWY_ATTR { return silu_f32(d, v); });
    case kTanh:
      return apply([d](V v) HWY_ATTR { return tanh_f32(d, v); });
    case kGelu:
      return apply([d](V v) HWY_ATTR {
        V density;
        const V y = scaled_cdf_f32(d, v, v, density);
        return hn::IfThenZeroElse(hn::Eq(v, hn::Set(d, -HUGE_VALF)), y);
      });
    case kGeluTanh:
      return apply([d](V v) HWY_ATTR {
        const V inner = hn::MulAdd(hn::Mul(hn::Mul(v, v), v), hn::Set(d, 0.044715f), v);
        V complement;
        const V s = sigmoid_f32(d, hn::Mul(inner, hn::Set(d, 1.5957691216057308f)), complement);
        return hn::IfThenZeroElse(hn::Eq(v, hn::Set(d, -HUGE_VALF)), hn::Mul(v, s));
      });
  }
}

double activate_one(Activation activation, double x) {
  const auto sigmoid = [](double v) {
    const double e = std::exp(-std::abs(v));
    return v < 0 ? e / (1 + e) : 1 / (1 + e);
  };
  switch (activation) {
    case kNone:
      return x;
    case kRelu:
      return x < 0 ? 0 : x;
    case kSigmoid:
      return sigmoid(x);
    case kSilu:
      return x == -HUGE_VAL ? 0 : x * sigmoid(x);
    case kTanh:
      return std::tanh(x);
    case kGelu:
      return x == -HUGE_VAL ? 0 : 0.5 * x * std::erfc(-x * 0.70710678118654752440);
    case kGeluTanh:  // as in activations.cpp
      return x == -HUGE_VAL ? 0 : x * sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x));
  }
  return x;
}

void activate_f32(Activation activation, float* x, int64_t n) { activate_range(activation, x, n); }
void activate_f64(Activation activation, double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = activate_one(activation, x[i]);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(activate_f32);
HWY_EXPORT(activate_f64);

void activate(Activation activation, float* x, int64_t n) {
  if (activation == kNone) return;
  parallel_for(n, kGrainMath, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(activate_f32)(activation, x + begin, end - begin);
  });
}
void activate(Activation activation, double* x, int64_t n) {
  if (activation == kNone) return;
  parallel_for(n, kGrainMath, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(activate_f64)(activation, x + begin, end - begin);
  });
}

}  // namespace tenon::cpu
#endif
