// Functions of two floats, and derivatives of activations times the incoming gradient.
#include "math.hpp"
#include "special.hpp"

namespace tenon::gpu {
namespace {

#define TENON_GPU_MATH2(Name, expression)                      \
  template <class C>                                           \
  struct Name {                                                \
    GPU_FN C operator()(C x, C y) const { return expression; } \
  }

TENON_GPU_MATH2(Atan2, std::atan2(x, y));
TENON_GPU_MATH2(Hypot, std::hypot(x, y));
// Factors out the larger of the two; correct for two infinities as well.
TENON_GPU_MATH2(Logaddexp, larger(x, y) + softplus_rest(x == y ? C(0) : x - y));
TENON_GPU_MATH2(GeluBackward, x* gelu_slope(y));
TENON_GPU_MATH2(GeluTanhBackward, x* gelu_tanh_slope(y));
TENON_GPU_MATH2(SigmoidBackward, x* y*(C(1) - y));
TENON_GPU_MATH2(TanhBackward, x* std::fma(-y, y, C(1)));

// Common exponents become plain products.
template <class C>
struct Pow {
  GPU_FN C operator()(C x, C y) const {
    if (y == C(2)) return x * x;
    return y == C(3) ? x * x * x : y == C(-1) ? C(1) / x : std::pow(x, y);
  }
};
// g s (1 + x (1 - s))
template <class C>
struct SiluBackward {
  GPU_FN C operator()(C g, C x) const {
    C rest;
    const C s = sigmoid(x, rest);
    return g * s * std::fma(x, rest, C(1));
  }
};

void run_gelu_backward(const tn_call& call, uint32_t) {
  if (text_arg(call, arg::gelu_backward::approximate) == "tanh")
    return run_math<2>(call,
                       [](auto tag) { return GeluTanhBackward<typename decltype(tag)::type>{}; });
  run_math<2>(call, [](auto tag) { return GeluBackward<typename decltype(tag)::type>{}; });
}

}  // namespace

void add_binary_math_kernels(KernelList& list) {
  add_math<Pow, 2>(list, TN_SCHEMA_POW);
  add_math<Atan2, 2>(list, TN_SCHEMA_ATAN2);
  add_math<Hypot, 2>(list, TN_SCHEMA_HYPOT);
  add_math<Logaddexp, 2>(list, TN_SCHEMA_LOGADDEXP);
  add_math<SiluBackward, 2>(list, TN_SCHEMA_SILU_BACKWARD);
  add_math<SigmoidBackward, 2>(list, TN_SCHEMA_SIGMOID_BACKWARD);
  add_math<TanhBackward, 2>(list, TN_SCHEMA_TANH_BACKWARD);
  list.add_elementwise(TN_SCHEMA_GELU_BACKWARD, Floats::kMask, run_gelu_backward);
}

}  // namespace tenon::gpu
