// Initial values of parameters: Glorot & Bengio 2010 (xavier), He et al. 2015 (kaiming).
#ifndef TENON_NN_INIT_HPP
#define TENON_NN_INIT_HPP

#include <cmath>
#include <optional>
#include <string_view>

#include "tenon/nn/detail/check.hpp"
#include "tenon/tenon.hpp"

namespace tenon::nn::init {

struct Fans {
  double in, out;
};
// The number of inputs and outputs that an element of a weight (out, in, kernel…) connects.
inline Fans fans(const Tensor& tensor) {
  if (tensor.ndim() < 2)
    throw Error(TN_INVALID_ARGUMENT,
                "[init] a tensor of rank " + std::to_string(tensor.ndim()) +
                    " has no fan-in and fan-out: it needs at least two dimensions");
  double kernel = 1;
  for (int64_t d = 2; d < tensor.ndim(); ++d) kernel *= static_cast<double>(tensor.shape(d));
  return {static_cast<double>(tensor.shape(1)) * kernel,
          static_cast<double>(tensor.shape(0)) * kernel};
}

// The factor that keeps the variance through a nonlinearity. `param`: the slope of leaky_relu, by default 0.01.
inline double calculate_gain(std::string_view nonlinearity, std::optional<double> param = {}) {
  if (nonlinearity == "linear" || nonlinearity == "sigmoid") return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "selu") return 0.75;
  const double slope = param.value_or(0.01);
  if (nonlinearity == "leaky_relu") return std::sqrt(2 / (1 + slope * slope));
  throw Error(TN_INVALID_ARGUMENT, "[calculate_gain] unknown nonlinearity \"" +
                                       std::string(nonlinearity) +
                                       "\": use linear, sigmoid, tanh, relu, leaky_relu or selu");
}

inline Tensor& constant_(Tensor& tensor, double val) {
  NoGrad guard;
  return tensor.fill_(val);
}
inline Tensor& zeros_(Tensor& tensor) { return constant_(tensor, 0); }
inline Tensor& ones_(Tensor& tensor) { return constant_(tensor, 1); }
inline Tensor& uniform_(Tensor& tensor, double a = 0, double b = 1,
                        const Generator& generator = {}) {
  NoGrad guard;
  return tensor.uniform_(a, b, generator);
}
inline Tensor& normal_(Tensor& tensor, double mean = 0, double std = 1,
                       const Generator& generator = {}) {
  NoGrad guard;
  return tensor.normal_(mean, std, generator);
}
inline Tensor& xavier_uniform_(Tensor& tensor, double gain = 1, const Generator& generator = {}) {
  nn::detail::check_least("xavier_uniform_", "gain", gain, 0);
  const Fans f = fans(tensor);
  const double bound = gain * std::sqrt(6 / (f.in + f.out));
  return uniform_(tensor, -bound, bound, generator);
}
inline Tensor& xavier_normal_(Tensor& tensor, double gain = 1, const Generator& generator = {}) {
  nn::detail::check_least("xavier_normal_", "gain", gain, 0);
  const Fans f = fans(tensor);
  return normal_(tensor, 0, gain * std::sqrt(2 / (f.in + f.out)), generator);
}

namespace detail {
inline double fan(std::string_view where, const Tensor& tensor, std::string mode) {
  mode = nn::detail::check_one_of(where, "mode", std::move(mode), {"fan_in", "fan_out"});
  const Fans f = fans(tensor);
  return mode == "fan_in" ? f.in : f.out;
}
}  // namespace detail

// `a` is the slope of leaky_relu.
inline Tensor& kaiming_uniform_(Tensor& tensor, double a = 0, std::string mode = "fan_in",
                                std::string_view nonlinearity = "leaky_relu",
                                const Generator& generator = {}) {
  const double fan = detail::fan("kaiming_uniform_", tensor, std::move(mode));
  const double bound = calculate_gain(nonlinearity, a) * std::sqrt(3 / fan);
  return uniform_(tensor, -bound, bound, generator);
}
inline Tensor& kaiming_normal_(Tensor& tensor, double a = 0, std::string mode = "fan_in",
                               std::string_view nonlinearity = "leaky_relu",
                               const Generator& generator = {}) {
  const double fan = detail::fan("kaiming_normal_", tensor, std::move(mode));
  return normal_(tensor, 0, calculate_gain(nonlinearity, a) / std::sqrt(fan), generator);
}

namespace detail {
// The initial values of Linear and convolutions: uniform within 1/√fan_in, for weights and biases.
inline Tensor layer_default(IntList shape, double fan_in) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(fan_in) : 0;
  return uniform(shape, -bound, bound);
}
}  // namespace detail

}  // namespace tenon::nn::init
#endif
