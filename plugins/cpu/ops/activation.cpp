// Activations of networks, and their derivatives times the incoming gradient.
#include <cmath>

#include "kernels.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation.cpp"
#include <hwy/foreach_target.h>

#include "simd/map-inl.hpp"
#include "simd/math-inl.hpp"
#include "simd/sigmoid-inl.hpp"
#include "simd/wide-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// A number of any precision as a vector.
template <class D>
HWY_INLINE hn::Vec<D> number(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

template <class D, class V>
HWY_INLINE V any_expm1(D d, V x) {
  if constexpr (kSingle<D>)
    return expm1_f32(d, x);
  else
    return each_lane(d, x, [](double v) { return std::expm1(v); });
}
// The normal distribution function times a factor, and exp(-x^2 / 2).
template <class D, class V>
HWY_INLINE V any_scaled_cdf(D d, V x, V factor, V& density) {
  if constexpr (kSingle<D>) {
    return scaled_cdf_f32(d, x, factor, density);
  } else {
    density = each_lane(d, x, [](double v) { return std::exp(-0.5 * v * v); });
    return hn::Mul(factor, each_lane(d, x, [](double v) {
                     return 0.5 * std::erfc(-v * 0.70710678118654752440);
                   }));
  }
}

struct SigmoidOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return any_sigmoid(d, x);
  }
};
// Minus infinity gives 0 like its limit.
struct SiluOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    if constexpr (kSingle<D>)
      return silu_f32(d, x);
    else
      return hn::IfThenZeroElse(hn::Eq(x, number(d, -HUGE_VAL)), hn::Mul(x, any_sigmoid(d, x)));
  }
};
// x Phi(x); minus infinity gives 0 like its limit.
struct GeluOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    if constexpr (kSingle<D>) {
      return gelu_f32(d, x);
    } else {
      V density;
      const V result = any_scaled_cdf(d, x, x, density);
      return hn::IfThenZeroElse(hn::Eq(x, number(d, -HUGE_VAL)), result);
    }
  }
};
// x s(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3): the same as x (1 + tanh u) / 2,
// without its cancellation.
struct GeluTanhOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V inner = hn::MulAdd(hn::Mul(hn::Mul(x, x), x), number(d, 0.044715), x);
    const V s = any_sigmoid(d, hn::Mul(inner, number(d, 1.5957691216057308)));
    return hn::IfThenZeroElse(hn::Eq(x, number(d, -HUGE_VAL)), hn::Mul(x, s));
  }
};
// x / 6 + 1/2 within [0, 1]; NaN stays.
template <class D, class V>
HWY_INLINE V hard_sigmoid(D d, V x) {
  const V line = hn::Add(hn::Div(x, number(d, 6)), number(d, 0.5)), one = number(d, 1);
  const V limited = hn::IfThenElse(hn::Gt(line, one), one, line);
  return hn::IfThenZeroElse(hn::Lt(limited, hn::Zero(d)), limited);
}
struct HardSigmoidOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hard_sigmoid(d, x);
  }
};
struct HardSwishOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, hard_sigmoid(d, x));
  }
};
// Vectors of positive numbers, common in images and after other activations, need no exponential.
template <class D, class V>
HWY_INLINE V any_elu(D d, V x, double alpha) {
  const auto positive = hn::Gt(x, hn::Zero(d));
  if (hn::AllTrue(d, positive)) return x;
  return hn::IfThenElse(positive, x, hn::Mul(number(d, alpha), any_expm1(d, x)));
}
struct EluOp {
  double alpha;
  explicit EluOp(const tn_call& call) : alpha(real_arg(call, arg::elu::alpha)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return any_elu(d, x, alpha);
  }
};
struct SeluOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(any_elu(d, x, 1.6732632423543772), number(d, 1.0507009873554805));
  }
};
struct LeakyReluOp {
  double slope;
  explicit LeakyReluOp(const tn_call& call) : slope(real_arg(call, arg::leaky_relu::slope)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, number(d, slope)));
  }
};
struct PreluOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V weight) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, weight));
  }
};
struct SigmoidGateOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V gate) const {
    return hn::Mul(x, any_sigmoid(d, gate));
  }
};
// NaN stays.
struct ShrinkOp {
  double lambd, bias;
  explicit ShrinkOp(const tn_call& call)
      : lambd(real_arg(call, arg::shrink::lambd)), bias(real_arg(call, arg::shrink::bias)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const auto small = hn::Le(hn::Abs(x), number(d, lambd));
    return hn::IfThenZeroElse(small, hn::Sub(x, hn::CopySign(number(d, bias), x)));
  }
};
// log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.
struct SoftplusOp {
  double beta, threshold;
  explicit SoftplusOp(const tn_call& call)
      : beta(real_arg(call, arg::softplus::beta)),
        threshold(real_arg(call, arg::softplus::threshold)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V scaled = hn::Mul(x, number(d, beta));
    V small;
    if constexpr (kSingle<D>)
      small = log1p_unit_f32(d, exp_f32(d, hn::Neg(hn::Abs(scaled))));
    else
      small = each_lane(d, scaled, [](double v) { return std::log1p(std::exp(-std::abs(v))); });
    const V positive = hn::IfThenZeroElse(hn::Lt(scaled, hn::Zero(d)), scaled);
    const V soft = hn::Div(hn::Add(positive, small), number(d, beta));
    return hn::IfThenElse(hn::Gt(scaled, number(d, threshold)), x, soft);
  }
};

// g (Phi(x) + x phi(x))
struct GeluBackwardOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    V density;
    const V cdf = any_scaled_cdf(d, x, number(d, 1), density);
    const V slope = hn::MulAdd(hn::Mul(x, number(d, 0.39894228040143267794)), density, cdf);
    const V flat = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), number(d, 1));
    return hn::Mul(g, hn::IfThenElse(hn::Gt(hn::Abs(x), number(d, 40)), flat, slope));
  }
};
// g (s + x s (1 - s) 2u') with s and u as in GeluTanhOp
struct GeluTanhBackwardOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    const V square = hn::Mul(x, x), one = number(d, 1), c = number(d, 1.5957691216057308);
    V rest;
    const V s =
        any_sigmoid(d, hn::Mul(hn::MulAdd(hn::Mul(square, x), number(d, 0.044715), x), c), rest);
    const V inner = hn::Mul(hn::MulAdd(square, number(d, 3 * 0.044715), one), c);
    const V slope = hn::MulAdd(hn::Mul(hn::Mul(x, s), rest), inner, s);
    const V flat = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
    return hn::Mul(g, hn::IfThenElse(hn::Gt(hn::Abs(x), number(d, 40)), flat, slope));
  }
};
// g s (1 + x (1 - s))
struct SiluBackwardOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    V rest;
    const V s = any_sigmoid(d, x, rest);
    return hn::Mul(hn::Mul(g, s), hn::MulAdd(x, rest, number(d, 1)));
  }
};
// g y (1 - y)
struct SigmoidBackwardOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V y) const {
    return hn::Mul(hn::Mul(g, y), hn::Sub(number(d, 1), y));
  }
};
// g (1 - y^2)
struct TanhBackwardOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V y) const {
    return hn::Mul(g, hn::NegMulAdd(y, y, number(d, 1)));
  }
};
// g where y > 0
struct ReluBackwardOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V y) const {
    return hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), g);
  }
};
// g where x > 0, else slope g
struct LeakyReluBackwardOp {
  double slope;
  explicit LeakyReluBackwardOp(const tn_call& call)
      : slope(real_arg(call, arg::leaky_relu_backward::slope)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), g, hn::Mul(g, number(d, slope)));
  }
};
// 0 below -3, g above 3, g (x / 3 + 1/2) between
struct HardSwishBackwardOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    const V three = number(d, 3), line = hn::Add(hn::Div(x, three), number(d, 0.5));
    const V above = hn::IfThenElse(hn::Gt(x, three), g, hn::Mul(g, line));
    return hn::IfThenZeroElse(hn::Lt(x, hn::Neg(three)), above);
  }
};

// gelu's kernels differ by a text, which decides once a call.
template <uint32_t Arg>
bool wants_tanh(const tn_call& call) {
  return call.args[Arg].count == 4 && call.args[Arg].as.str[0] == 't';
}
template <uint32_t Arg>
const Elementwise* gelu_of(const void* self, const tn_call& call) {
  return static_cast<const Elementwise* const*>(self)[wants_tanh<Arg>(call) ? 1 : 0];
}
template <uint32_t Arg, auto Exact, auto Tanh>
tn_status* run_gelu(void* self, void* plan, const tn_call* call) {
  Elementwise* chosen = const_cast<Elementwise*>(gelu_of<Arg>(self, *call));
  return wants_tanh<Arg>(*call) ? Tanh(chosen, plan, call) : Exact(chosen, plan, call);
}
template <const Elementwise& Exact, const Elementwise& Tanh>
inline constexpr const Elementwise* kPair[2] = {&Exact, &Tanh};

template <uint32_t Arg, auto Exact, auto Tanh, const Elementwise& ExactSelf,
          const Elementwise& TanhSelf>
void add_gelu(KernelList& list, std::string_view schema, tn_dtype dtype) {
  list.add({.schema = schema,
            .dtypes = TN_MASK(dtype),
            .run = run_gelu<Arg, Exact, Tanh>,
            .flags = kElementwiseFlags,
            .self = const_cast<const Elementwise**>(kPair<ExactSelf, TanhSelf>),
            .stretch = {gelu_of<Arg>, through_of(Exact)}});
}
template <class T, int64_t Grain>
void add_gelu_of(KernelList& list) {
  add_gelu<arg::gelu::approximate, run1<GeluOp, T, Grain>, run1<GeluTanhOp, T, Grain>,
           kUnary<GeluOp, T, Grain>, kUnary<GeluTanhOp, T, Grain>>(list, TN_SCHEMA_GELU, kDtype<T>);
  add_gelu<arg::gelu_backward::approximate, run2<GeluBackwardOp, T, Grain>,
           run2<GeluTanhBackwardOp, T, Grain>, kBinary<GeluBackwardOp, T, Grain>,
           kBinary<GeluTanhBackwardOp, T, Grain>>(list, TN_SCHEMA_GELU_BACKWARD, kDtype<T>);
}
template <auto Run>
void add_gelu_half(KernelList& list, tn_dtype dtype) {
  constexpr int64_t kGrain = kGrainMath;
  add_gelu<arg::gelu::approximate, Run, Run, kUnary<GeluOp, float, kGrain>,
           kUnary<GeluTanhOp, float, kGrain>>(list, TN_SCHEMA_GELU, dtype);
  add_gelu<arg::gelu_backward::approximate, Run, Run, kBinary<GeluBackwardOp, float, kGrain>,
           kBinary<GeluTanhBackwardOp, float, kGrain>>(list, TN_SCHEMA_GELU_BACKWARD, dtype);
}

void add_kernels(KernelList& list) {
  add_unary<SigmoidOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_SIGMOID);
  add_unary<SiluOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_SILU);
  add_unary<EluOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ELU);
  add_unary<SeluOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_SELU);
  add_unary<HardSigmoidOp, kGrainCopy>(list, TN_SCHEMA_HARDSIGMOID);
  add_unary<HardSwishOp, kGrainCopy>(list, TN_SCHEMA_HARDSWISH);
  add_unary<LeakyReluOp, kGrainCopy>(list, TN_SCHEMA_LEAKY_RELU);
  add_unary<ShrinkOp, kGrainCopy>(list, TN_SCHEMA_SHRINK);
  add_binary<PreluOp, kGrainCopy>(list, TN_SCHEMA_PRELU);
  add_binary<SigmoidGateOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_SIGMOID_GATE);
  add_unary<SoftplusOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_SOFTPLUS);
  add_gelu_of<float, kGrainMath>(list);
  add_gelu_of<double, kGrainHeavy>(list);
  add_gelu_half<run_elementwise_f16>(list, TN_DTYPE_F16);
  add_gelu_half<run_elementwise_bf16>(list, TN_DTYPE_BF16);
  add_binary<SiluBackwardOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_SILU_BACKWARD);
  add_binary<SigmoidBackwardOp, kGrainCopy>(list, TN_SCHEMA_SIGMOID_BACKWARD);
  add_binary<TanhBackwardOp, kGrainCopy>(list, TN_SCHEMA_TANH_BACKWARD);
  add_binary<ReluBackwardOp, kGrainCopy>(list, TN_SCHEMA_RELU_BACKWARD);
  add_binary<LeakyReluBackwardOp, kGrainCopy>(list, TN_SCHEMA_LEAKY_RELU_BACKWARD);
  add_binary<HardSwishBackwardOp, kGrainCopy>(list, TN_SCHEMA_HARDSWISH_BACKWARD);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_activation_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
