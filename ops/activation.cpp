// Activations.
// Second gradients of the fused backward ops go through their decompositions.
#include <limits>
#include <numbers>

#include "ops/gradients.hpp"
#include "ops/number.hpp"
#include "ops/record.hpp"

namespace {

void require_approximation(const Frame& frame, uint32_t approximate) {
  frame.require(frame.str(approximate) == "none" || frame.str(approximate) == "tanh",
                "approximate is \"none\" or \"tanh\", got \"{}\"", frame.str(approximate));
}

}  // namespace

TN_OP(relu) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "max(x, 0).",
    .example = "tenon.relu(t([-1., 2.]))",
    .in_place = true,
    .rule = &rule::relu,
    .gradient = &gradient::relu,
};

TN_RULE(relu, relu,
        {.dtypes = "real; the result has x's",
         .shapes = "x's",
         .elementwise = true,
         .unchanged = TN_MASK_FLOAT}) {
  elementwise(frame, operand(frame, arg::x, TN_MASK_REAL, "a real dtype").dtype());
}

// g where y > 0
TN_GRADIENT(relu, {.always = out_(0)}) { c.set(arg::x, relu_backward(c.grad(), c.out())); }

TN_OP(sigmoid) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "1/(1 + exp(-x)).",
    .example = "tenon.sigmoid(t([0., 2.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::sigmoid,
};

// d(σ(x)) = y·(1−y)·dx
TN_GRADIENT(sigmoid, {.always = out_(0)}) { c.set(arg::x, sigmoid_backward(c.grad(), c.out())); }

TN_OP(silu) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "x·sigmoid(x).",
    .example = "tenon.silu(t([0., 2.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::silu,
};

// d(x·σ(x)) = σ·(1 + x·(1−σ))·dx
TN_GRADIENT(silu, {.always = in_(arg::x)}) { c.set(arg::x, silu_backward(c.grad(), c.in(arg::x))); }

TN_OP(gelu) = {
    .schema = "(Tensor x, str approximate=\"none\") -> Tensor",
    .gives = "x·Φ(x); approximate=\"tanh\" is the usual approximation with tanh.",
    .example = "tenon.gelu(t([0., 2.]))",
    .in_place = true,
    .rule = &rule::gelu,
    .gradient = &gradient::gelu,
};

TN_RULE(gelu, gelu,
        {.dtypes = "real and bool; integers and bool give f32",
         .shapes = "x's",
         .elementwise = true,
         .unchanged = TN_MASK_FLOAT}) {
  const tn_dtype dtype = fractional(float_operand(frame, arg::x).dtype());
  require_approximation(frame, arg::approximate);
  elementwise(frame, dtype);
}

// d(x·Φ(x)) = (Φ(x) + x·φ(x))·dx, Hendrycks and Gimpel 2016
TN_GRADIENT(gelu, {.always = in_(arg::x)}) {
  c.set(arg::x, gelu_backward(c.grad(), c.in(arg::x), c.str(arg::approximate)));
}

TN_OP(elu) = {
    .schema = "(Tensor x, float alpha=1.0) -> Tensor",
    .gives = "x above 0, alpha·(exp(x) - 1) below.",
    .example = "tenon.elu(t([-1., 2.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::elu,
};

// x > 0: dx, otherwise α·eˣ·dx; the exponent is clamped to 0, so that the branch not taken stays finite
TN_GRADIENT(elu, {.always = in_(arg::x)}) {
  const Tensor x = c.in(arg::x), g = c.grad();
  c.set(arg::x, where(greater(x, 0), g, g * (exp(minimum(x, 0)) * c.real(arg::alpha))));
}

TN_OP(leaky_relu) = {
    .schema = "(Tensor x, float slope=0.01) -> Tensor",
    .gives = "x above 0, slope·x below.",
    .example = "tenon.leaky_relu(t([-1., 2.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::leaky_relu,
};

// x > 0: dx, otherwise slope·dx
TN_GRADIENT(leaky_relu, {.always = in_(arg::x)}) {
  c.set(arg::x, leaky_relu_backward(c.grad(), c.in(arg::x), c.real(arg::slope)));
}

TN_OP(softplus) = {
    .schema = "(Tensor x, float beta=1.0, float threshold=20.0) -> Tensor",
    .gives = "log(1 + exp(beta·x))/beta; x itself where beta·x is above the threshold.",
    .example = "tenon.softplus(t([0., 2.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::softplus,
};

// d(ln(1+e^(βx))/β) = σ(βx)·dx; dx beyond the threshold
TN_GRADIENT(softplus, {.always = in_(arg::x)}) {
  const Tensor g = c.grad(), scaled = c.in(arg::x)*c.real(arg::beta);
  c.set(arg::x, where(greater(scaled, c.real(arg::threshold)), g, g * sigmoid(scaled)));
}

TN_OP(mish) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "x·tanh(softplus(x)).",
    .example = "tenon.mish(t([0., 2.]))",
    .dtypes = "real and bool; integers and bool give f32",
    .shapes = "x's",
    .elementwise = true,
    .in_place = true,
    .through = true,
    .decompose = &decomposition::mish,
};

// x·tanh(ln(1+eˣ)), Misra 2019
TN_DECOMPOSE(mish) {
  const Tensor x = in.tensor(arg::x);
  out[0] = x * tanh(softplus(x));
}

TN_OP(selu) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "The self-normalising ELU.",
    .example = "tenon.selu(t([-1., 2.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .through = true,
    .decompose = &decomposition::selu,
};

// λ·elu(x, α) with the constants of Klambauer et al. 2017
TN_DECOMPOSE(selu) { out[0] = elu(in.tensor(arg::x), 1.6732632423543772) * 1.0507009873554805; }

TN_OP(prelu) = {
    .schema = "(Tensor x, Tensor weight) -> Tensor",
    .gives = "x above 0, weight·x below.",
    .example = "tenon.prelu(t([-1., 2.]), t([0.25]))",
    .rule = &rule::prelu,
    .gradient = &gradient::prelu,
    .decompose = &decomposition::prelu,
};

TN_RULE(prelu, prelu,
        {.dtypes = "promoted; real and bool; integers and bool give f32",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "weight",
         .unchanged = TN_MASK_FLOAT}) {
  binary(frame, common_real_fraction(frame, arg::x, arg::weight));
}

// x > 0: dx, otherwise w·dx + x·dw; He et al. 2015
TN_GRADIENT(prelu, {.always = in_(arg::x), .if_needs = {in_(arg::weight)}}) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor x = c.in(arg::x), g = c.grad();
  if (c.needs(arg::x))
    c.set(arg::x, where_between(x, mul(g, Value(c, arg::weight)), g, -kInf, 0.0));
  if (c.needs(arg::weight)) c.set(arg::weight, where_between(x, g * x, 0, -kInf, 0.0));
}

TN_DECOMPOSE(prelu) {
  const Tensor x = in.tensor(arg::x);
  out[0] = where(x > 0, x, mul(x, in.operand(arg::weight)));
}

TN_OP(shrink) = {
    .schema = "(Tensor x, float lambd=0.5, float bias=0.0) -> Tensor",
    .gives =
        "x - bias above lambd, x + bias below -lambd, 0 between. hardshrink has a bias of 0, "
        "softshrink a bias of lambd.",
    .example = "tenon.shrink(t([-1., 0.2, 2.]), 0.5, 0.5)",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::shrink,
    .decompose = &decomposition::shrink,
};

// dx beyond ±λ, 0 between
TN_GRADIENT(shrink, {.always = in_(arg::x)}) {
  const double lambd = c.real(arg::lambd);
  c.set(arg::x, where_between(c.in(arg::x), 0, c.grad(), -lambd, lambd));
}

TN_DECOMPOSE(shrink) {
  const Tensor x = in.tensor(arg::x);
  const double lambd = in.real(arg::lambd), bias = in.real(arg::bias);
  const Tensor moved = bias == 0 ? x : x - sign(x) * bias;
  out[0] = where_between(x, 0, moved, -lambd, lambd);
}

TN_OP(sigmoid_gate) = {
    .schema = "(Tensor x, Tensor gate) -> Tensor",
    .gives = "x·sigmoid(gate), the product of gated linear units.",
    .example = "tenon.sigmoid_gate(t([1., 2.]), t([0., 3.]))",
    .rule = &rule::binary_real_float,
    .through = true,
    .decompose = &decomposition::sigmoid_gate,
};

TN_DECOMPOSE(sigmoid_gate) {
  out[0] = fraction(in.tensor(arg::x)) * sigmoid(fraction(in.tensor(arg::gate)));
}

TN_OP(hardsigmoid) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "clamp(x/6 + 1/2, 0, 1).",
    .example = "tenon.hardsigmoid(t([-4., 0., 4.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::hardsigmoid,
    .decompose = &decomposition::hardsigmoid,
};

// dx/6 between −3 and 3, 0 outside and at them
TN_GRADIENT(hardsigmoid, {.always = in_(arg::x)}) {
  c.set(arg::x, clamp_backward(c.grad() / 6.0, c.in(arg::x), -3.0, 3.0));
}

// x/6 + ½ within [0, 1]
TN_DECOMPOSE(hardsigmoid) { out[0] = clamp(in.tensor(arg::x) / 6.0 + 0.5, 0.0, 1.0); }

TN_OP(hardswish) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "x·hardsigmoid(x).",
    .example = "tenon.hardswish(t([-4., 0., 4.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::hardswish,
    .decompose = &decomposition::hardswish,
};

TN_DECOMPOSE(hardswish) {
  const Tensor x = in.tensor(arg::x);
  out[0] = x * clamp(x / 6.0 + 0.5, 0.0, 1.0);
}

// 0 below −3, dx above 3, (x/3 + ½)·dx between
TN_GRADIENT(hardswish, {.always = in_(arg::x)}) {
  c.set(arg::x, hardswish_backward(c.grad(), c.in(arg::x)));
}

TN_OP(log_sigmoid) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "log(sigmoid(x)) without overflow.",
    .example = "tenon.log_sigmoid(t([0., 2.]))",
    .dtypes = "real; integers give f32",
    .shapes = "x's",
    .elementwise = true,
    .through = true,
    .decompose = &decomposition::log_sigmoid,
};

// −ln(1+e^−x); beyond 40 it equals the straight line even in f64
TN_DECOMPOSE(log_sigmoid) { out[0] = -softplus(-in.tensor(arg::x), 1.0, 40.0); }

TN_OP(gelu_backward) = {
    .schema = "(Tensor g, Tensor x, str approximate=\"none\") -> Tensor",
    .gives = "g times the derivative of gelu at x.",
    .example = "tenon.gelu_backward(t([1.]), t([2.]))",
    .rule = &rule::gelu_backward,
    .through = true,
    .decompose = &decomposition::gelu_backward,
};

TN_RULE(gelu_backward, gelu_backward,
        {.dtypes = "promoted; real and bool; integers and bool give f32",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all",
         .unchanged = TN_MASK_FLOAT}) {
  const tn_dtype dtype = common_real_fraction(frame, arg::g, arg::x);
  require_approximation(frame, arg::approximate);
  binary(frame, dtype);
}

// g·(Φ(x) + x·φ(x)), or the derivative of the tanh form ½x(1+tanh(√(2/π)(x+0.044715x³))); Hendrycks
// and Gimpel 2016
TN_DECOMPOSE(gelu_backward) {
  const Tensor g = in.tensor(arg::g), x = in.tensor(arg::x);
  if (in.str(arg::approximate) == "none") {
    const Tensor cdf = (erf(x * (1 / std::numbers::sqrt2)) + 1) * 0.5;
    const Tensor pdf = exp(square(x) * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    out[0] = g * (cdf + x * pdf);
    return;
  }
  constexpr double kScale = 2 * std::numbers::inv_sqrtpi / std::numbers::sqrt2, kCubic = 0.044715;
  const Tensor squared = square(x), t = tanh(x * (squared * kCubic + 1) * kScale);
  const Tensor slope = (1 - square(t)) * (squared * (3 * kCubic) + 1) * kScale;
  out[0] = g * (((t + 1) + x * slope) * 0.5);
}

TN_OP(silu_backward) = {
    .schema = "(Tensor g, Tensor x) -> Tensor",
    .gives = "g times the derivative of silu at x.",
    .example = "tenon.silu_backward(t([1.]), t([2.]))",
    .rule = &rule::silu_backward,
    .through = true,
    .decompose = &decomposition::silu_backward,
};

// The rule of leaky_relu_backward and hardswish_backward as well.
TN_RULE(silu_backward, silu_backward,
        {.dtypes = "promoted; real and bool; integers and bool give f32",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all",
         .unchanged = TN_MASK_FLOAT}) {
  binary(frame, common_real_fraction(frame, arg::g, arg::x));
}

// g·σ·(1 + x·(1−σ))
TN_DECOMPOSE(silu_backward) {
  const Tensor x = in.tensor(arg::x), s = sigmoid(x);
  out[0] = in.tensor(arg::g) * (s * (x * (1 - s) + 1));
}

TN_OP(sigmoid_backward) = {
    .schema = "(Tensor g, Tensor y) -> Tensor",
    .gives = "g·y·(1 - y), where y is the result of sigmoid.",
    .example = "tenon.sigmoid_backward(t([1.]), t([0.5]))",
    .rule = &rule::binary_float,
    .through = true,
    .decompose = &decomposition::sigmoid_backward,
};

// g·y·(1−y)
TN_DECOMPOSE(sigmoid_backward) {
  const Tensor y = in.tensor(arg::y);
  out[0] = in.tensor(arg::g) * (y * (1 - y));
}

TN_OP(tanh_backward) = {
    .schema = "(Tensor g, Tensor y) -> Tensor",
    .gives = "g·(1 - y²), where y is the result of tanh.",
    .example = "tenon.tanh_backward(t([1.]), t([0.5]))",
    .rule = &rule::binary_float,
    .through = true,
    .decompose = &decomposition::tanh_backward,
};

// g·(1−y²)
TN_DECOMPOSE(tanh_backward) { out[0] = in.tensor(arg::g) * (1 - square(in.tensor(arg::y))); }

TN_OP(relu_backward) = {
    .schema = "(Tensor g, Tensor y) -> Tensor",
    .gives = "g where the result y of relu is above 0, else 0.",
    .example = "tenon.relu_backward(t([1., 1.]), t([0., 3.]))",
    .rule = &rule::relu_backward,
    .through = true,
    .decompose = &decomposition::relu_backward,
};

TN_RULE(relu_backward, relu_backward,
        {.dtypes = "promoted to a common dtype, which the result has; real",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all",
         .unchanged = TN_MASK_FLOAT}) {
  binary(frame, common_real_number(frame, arg::g, arg::y));
}

// g where y > 0
TN_DECOMPOSE(relu_backward) { out[0] = where(in.tensor(arg::y) > 0, in.tensor(arg::g), 0); }

TN_OP(leaky_relu_backward) = {
    .schema = "(Tensor g, Tensor x, float slope=0.01) -> Tensor",
    .gives = "g where x is above 0, else slope·g.",
    .example = "tenon.leaky_relu_backward(t([1., 1.]), t([-1., 2.]), 0.1)",
    .rule = &rule::silu_backward,
    .through = true,
    .decompose = &decomposition::leaky_relu_backward,
};

TN_DECOMPOSE(leaky_relu_backward) {
  const Tensor g = in.tensor(arg::g);
  out[0] = where(in.tensor(arg::x) > 0, g, g * in.real(arg::slope));
}

TN_OP(hardswish_backward) = {
    .schema = "(Tensor g, Tensor x) -> Tensor",
    .gives = "g times the derivative of hardswish at x.",
    .example = "tenon.hardswish_backward(t([1., 1., 1.]), t([-4., 0., 4.]))",
    .rule = &rule::silu_backward,
    .through = true,
    .decompose = &decomposition::hardswish_backward,
};

TN_DECOMPOSE(hardswish_backward) {
  const Tensor g = in.tensor(arg::g), x = in.tensor(arg::x);
  out[0] = where(x < -3, 0, where(x > 3, g, g * (x / 3.0 + 0.5)));
}
