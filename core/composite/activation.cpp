// Activations, and the fused backward ops as differentiable formulas.
#include <cmath>
#include <numbers>

#include "composite/composite.hpp"

// x·tanh(ln(1+eˣ)), Misra 2019
TN_DECOMPOSE(mish) {
  const Tensor x = in.tensor(0);
  out[0] = x * tanh(softplus(x));
}

// λ·elu(x, α) with the constants of Klambauer et al. 2017
TN_DECOMPOSE(selu) { out[0] = elu(in.tensor(0), 1.6732632423543772) * 1.0507009873554805; }

// x/6 + ½ within [0, 1]
TN_DECOMPOSE(hardsigmoid) { out[0] = clamp(in.tensor(0) / 6.0 + 0.5, 0.0, 1.0); }

TN_DECOMPOSE(hardswish) {
  const Tensor x = in.tensor(0);
  out[0] = x * clamp(x / 6.0 + 0.5, 0.0, 1.0);
}

// −ln(1+e^−x); beyond 40 even f64 does not see the difference to a line
TN_DECOMPOSE(log_sigmoid) { out[0] = -softplus(-in.tensor(0), 1.0, 40.0); }

// g·(Φ(x) + x·φ(x)), or the derivative of the tanh form ½x(1+tanh(√(2/π)(x+0.044715x³))); Hendrycks
// and Gimpel 2016
TN_DECOMPOSE(gelu_backward) {
  const Tensor g = in.tensor(0), x = in.tensor(1);
  const std::string_view approximate = in.str(2);
  if (approximate == "none") {
    const Tensor cdf = (erf(x * (1 / std::numbers::sqrt2)) + 1) * 0.5;
    const Tensor pdf = exp(square(x) * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    out[0] = g * (cdf + x * pdf);
    return;
  }
  in.frame().require(approximate == "tanh", "approximate must be none or tanh, got \"{}\"",
                     approximate);
  constexpr double kScale = 2 * std::numbers::inv_sqrtpi / std::numbers::sqrt2, kCubic = 0.044715;
  const Tensor squared = square(x), t = tanh(x * (squared * kCubic + 1) * kScale);
  const Tensor slope = (1 - square(t)) * (squared * (3 * kCubic) + 1) * kScale;
  out[0] = g * (((t + 1) + x * slope) * 0.5);
}

// g·σ·(1 + x·(1−σ))
TN_DECOMPOSE(silu_backward) {
  const Tensor x = in.tensor(1), s = sigmoid(x);
  out[0] = in.tensor(0) * (s * (x * (1 - s) + 1));
}

// g·y·(1−y)
TN_DECOMPOSE(sigmoid_backward) {
  const Tensor y = in.tensor(1);
  out[0] = in.tensor(0) * (y * (1 - y));
}

// g·(1−y²)
TN_DECOMPOSE(tanh_backward) { out[0] = in.tensor(0) * (1 - square(in.tensor(1))); }

// g where y > 0
TN_DECOMPOSE(relu_backward) { out[0] = where(in.tensor(1) > 0, in.tensor(0), 0); }
