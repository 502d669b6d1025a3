// Activations as modules, for Sequential.
#ifndef TENON_NN_ACTIVATION_HPP
#define TENON_NN_ACTIVATION_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

#define TENON_ACTIVATION(Name, function)                                    \
  class Name : public Module {                                              \
   public:                                                                  \
    Tensor forward(const Tensor& x) override { return tenon::function(x); } \
    std::string describe() const override { return #Name; }                 \
  };
TENON_ACTIVATION(ReLU, relu)
TENON_ACTIVATION(Sigmoid, sigmoid)
TENON_ACTIVATION(Tanh, tanh)
TENON_ACTIVATION(SiLU, silu)
TENON_ACTIVATION(Mish, mish)
TENON_ACTIVATION(SELU, selu)
TENON_ACTIVATION(Hardsigmoid, hardsigmoid)
TENON_ACTIVATION(Hardswish, hardswish)
TENON_ACTIVATION(LogSigmoid, log_sigmoid)
#undef TENON_ACTIVATION

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

class ELU : public Module {
 public:
  explicit ELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) override { return elu(x, alpha_); }
  std::string describe() const override { return "ELU"; }

 private:
  double alpha_;
};

class LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : slope_(negative_slope) {}
  Tensor forward(const Tensor& x) override { return leaky_relu(x, slope_); }
  std::string describe() const override { return "LeakyReLU"; }

 private:
  double slope_;
};

class Softplus : public Module {
 public:
  explicit Softplus(double beta = 1, double threshold = 20) : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& x) override { return softplus(x, beta_, threshold_); }
  std::string describe() const override { return "Softplus"; }

 private:
  double beta_, threshold_;
};

class Softmax : public Module {
 public:
  explicit Softmax(int64_t dim = -1) : dim_(dim) {}
  Tensor forward(const Tensor& x) override { return softmax(x, dim_); }
  std::string describe() const override { return "Softmax"; }

 private:
  int64_t dim_;
};

class LogSoftmax : public Module {
 public:
  explicit LogSoftmax(int64_t dim = -1) : dim_(dim) {}
  Tensor forward(const Tensor& x) override { return log_softmax(x, dim_); }
  std::string describe() const override { return "LogSoftmax"; }

 private:
  int64_t dim_;
};

}  // namespace tenon::nn
#endif
