// Activations as functions and as modules.
#ifndef TENON_NN_ACTIVATION_HPP
#define TENON_NN_ACTIVATION_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

namespace functional {
using tenon::elu, tenon::gelu, tenon::hardsigmoid, tenon::hardswish, tenon::leaky_relu,
    tenon::log_softmax, tenon::mish, tenon::relu, tenon::selu, tenon::sigmoid, tenon::silu,
    tenon::softmax, tenon::softplus, tenon::tanh;

inline Tensor logsigmoid(const Tensor& x) { return log_sigmoid(x); }
// x above 0, alpha · (exp(x / alpha) - 1) below.
inline Tensor celu(const Tensor& x, double alpha = 1) {
  if (alpha == 0) nn::detail::refuse("celu", "alpha must not be 0");
  return where(x > 0, x, alpha * expm1(minimum(x, 0) / alpha));
}
// One half of a dimension times the sigmoid of the other half.
inline Tensor glu(const Tensor& x, int64_t dim = -1) {
  if (x.shape(dim) % 2 != 0)
    nn::detail::refuse("glu", "dim " + std::to_string(dim) + " has " +
                                  std::to_string(x.shape(dim)) + " entries, must be even");
  const auto halves = x.chunk(2, dim);
  return halves[0] * halves[1].sigmoid();
}
// x where |x| is above lambd, 0 elsewhere.
inline Tensor hardshrink(const Tensor& x, double lambd = 0.5) { return shrink(x, lambd); }
// Moves x towards 0 by lambd, without crossing 0.
inline Tensor softshrink(const Tensor& x, double lambd = 0.5) {
  nn::detail::check_least("softshrink", "lambd", lambd, 0);
  return shrink(x, lambd, lambd);
}
inline Tensor tanhshrink(const Tensor& x) { return x - x.tanh(); }
// x / (1 + |x|)
inline Tensor softsign(const Tensor& x) { return x / (1 + x.abs()); }
// Clamps x; the gradient at the bounds is 0.
inline Tensor hardtanh(const Tensor& x, double min_val = -1, double max_val = 1) {
  return x.clamp(min_val, max_val);
}
inline Tensor relu6(const Tensor& x) { return hardtanh(x, 0, 6); }
// x above the threshold, value elsewhere.
inline Tensor threshold(const Tensor& x, double threshold, double value) {
  return where(x <= threshold, value, x).to(x.dtype());
}
// leaky_relu with learned slopes: one, or one for each channel (dimension 1).
inline Tensor prelu(const Tensor& x, const Tensor& weight) {
  std::vector<int64_t> shape(static_cast<size_t>(x.ndim()), 1);
  if (weight.numel() != 1) {
    const int64_t channels = x.ndim() > 1 ? x.shape(1) : 1;
    if (weight.numel() != channels)
      nn::detail::refuse("prelu", std::to_string(weight.numel()) + " weights for " +
                                      std::to_string(channels) + " channels");
    shape[x.ndim() > 1 ? 1 : 0] = channels;
  }
  return tenon::prelu(x, weight.reshape(shape));
}
// leaky_relu with random slopes in training, their mean otherwise.
inline Tensor rrelu(const Tensor& x, double lower = 1.0 / 8, double upper = 1.0 / 3,
                    bool training = false) {
  if (lower > upper)
    nn::detail::refuse("rrelu", "lower " + nn::detail::text_of(lower) + " is above upper " +
                                    nn::detail::text_of(upper));
  if (!training) return leaky_relu(x, (lower + upper) / 2);
  return where(x >= 0, x, x * uniform(x.shape(), lower, upper, x.dtype(), x.device()));
}
// softmax of -x. Without a dim: along dimension 0 for rank 0, 1 and 3, else along 1, as in PyTorch.
inline Tensor softmin(const Tensor& x, std::optional<int64_t> dim = {}) {
  return softmax(-x, dim.value_or(x.ndim() <= 1 || x.ndim() == 3 ? 0 : 1));
}
// softmax of logits with Gumbel noise (Jang et al. 2017, equation 2). hard: one-hot, with the gradient of the soft sample.
inline Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false,
                             int64_t dim = -1) {
  nn::detail::check_positive("gumbel_softmax", "tau", tau);
  const Tensor draw = uniform(logits.shape(), 0, 1, logits.dtype(), logits.device());
  Tensor soft = softmax((logits - (-draw.clamp(1e-20).log()).log()) / tau, dim);
  if (!hard) return soft;
  const Tensor place = soft.detach().argmax(dim, true);
  const Tensor one =
      scatter(zeros_like(soft), dim, place, ones(place.shape(), soft.dtype(), soft.device()));
  return one - soft.detach() + soft;
}
}  // namespace functional

#define TENON_ACTIVATION(Name, function)                             \
  class Name : public Module {                                       \
   public:                                                           \
    Tensor forward(const Tensor& x) override { return function(x); } \
    std::string describe() const override { return #Name; }          \
  };
TENON_ACTIVATION(ReLU, relu)
TENON_ACTIVATION(ReLU6, functional::relu6)
TENON_ACTIVATION(Sigmoid, sigmoid)
TENON_ACTIVATION(Tanh, tanh)
TENON_ACTIVATION(SiLU, silu)
TENON_ACTIVATION(Mish, mish)
TENON_ACTIVATION(SELU, selu)
TENON_ACTIVATION(Hardsigmoid, hardsigmoid)
TENON_ACTIVATION(Hardswish, hardswish)
TENON_ACTIVATION(LogSigmoid, functional::logsigmoid)
TENON_ACTIVATION(Softsign, functional::softsign)
TENON_ACTIVATION(Tanhshrink, functional::tanhshrink)
#undef TENON_ACTIVATION

// Activations with one option.
#define TENON_ACTIVATION_1(Name, Type, option, usual, function)                 \
  class Name : public Module {                                                  \
   public:                                                                      \
    explicit Name(Type option = usual) : option##_(option) {}                   \
    Tensor forward(const Tensor& x) override { return function(x, option##_); } \
    std::string describe() const override { return #Name; }                     \
                                                                                \
   private:                                                                     \
    Type option##_;                                                             \
  };
TENON_ACTIVATION_1(ELU, double, alpha, 1, elu)
TENON_ACTIVATION_1(CELU, double, alpha, 1, functional::celu)
TENON_ACTIVATION_1(LeakyReLU, double, negative_slope, 0.01, leaky_relu)
TENON_ACTIVATION_1(Hardshrink, double, lambd, 0.5, functional::hardshrink)
TENON_ACTIVATION_1(Softshrink, double, lambd, 0.5, functional::softshrink)
TENON_ACTIVATION_1(GLU, int64_t, dim, -1, functional::glu)
TENON_ACTIVATION_1(Softmax, int64_t, dim, -1, softmax)
TENON_ACTIVATION_1(LogSoftmax, int64_t, dim, -1, log_softmax)
TENON_ACTIVATION_1(Softmin, std::optional<int64_t>, dim, {}, functional::softmin)
#undef TENON_ACTIVATION_1

class Softplus : public Module {
 public:
  explicit Softplus(double beta = 1, double threshold = 20) : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& x) override { return softplus(x, beta_, threshold_); }
  std::string describe() const override { return "Softplus"; }

 private:
  double beta_, threshold_;
};

class Hardtanh : public Module {
 public:
  explicit Hardtanh(double min_val = -1, double max_val = 1) : min_(min_val), max_(max_val) {
    if (max_val <= min_val)
      detail::refuse("Hardtanh", "max_val", detail::text_of(max_val),
                     "must be above min_val " + detail::text_of(min_val));
  }
  Tensor forward(const Tensor& x) override { return functional::hardtanh(x, min_, max_); }
  std::string describe() const override { return "Hardtanh"; }

 private:
  double min_, max_;
};

class Threshold : public Module {
 public:
  Threshold(double threshold, double value) : threshold_(threshold), value_(value) {}
  Tensor forward(const Tensor& x) override { return functional::threshold(x, threshold_, value_); }
  std::string describe() const override { return "Threshold"; }

 private:
  double threshold_, value_;
};

class RReLU : public Module {
 public:
  explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3) : lower_(lower), upper_(upper) {}
  Tensor forward(const Tensor& x) override {
    return functional::rrelu(x, lower_, upper_, training());
  }
  std::string describe() const override { return "RReLU"; }

 private:
  double lower_, upper_;
};

// Learned slopes: one, or one for each channel.
class PReLU : public Module {
 public:
  explicit PReLU(int64_t num_parameters = 1, double init = 0.25)
      : weight(add_parameter(
            "weight",
            full({detail::check_least("PReLU", "num_parameters", num_parameters)}, init))) {}
  Tensor forward(const Tensor& x) override { return functional::prelu(x, weight); }
  std::string describe() const override { return "PReLU"; }

  Parameter weight;
};

// softmax over the channels of (N, C, H, W) or (C, H, W).
class Softmax2d : public Module {
 public:
  Tensor forward(const Tensor& x) override {
    if (x.ndim() != 3 && x.ndim() != 4)
      detail::refuse("Softmax2d",
                     "input has rank " + std::to_string(x.ndim()) + ", must be 3 or 4");
    return softmax(x, -3);
  }
  std::string describe() const override { return "Softmax2d"; }
};

class GELU : public Module {
 public:
  // approximate: "none" or "tanh"
  explicit GELU(std::string approximate = "none")
      : approximate_(detail::check_one_of("GELU", "approximate", std::move(approximate),
                                          {"none", "tanh"})) {}
  Tensor forward(const Tensor& x) override { return gelu(x, approximate_); }
  std::string describe() const override { return "GELU"; }

 private:
  std::string approximate_;
};

}  // namespace tenon::nn
#endif
