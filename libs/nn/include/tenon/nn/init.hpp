// Initial values of parameters: Glorot & Bengio 2010 (xavier), He et al. 2015 (kaiming).
#ifndef TENON_NN_INIT_HPP
#define TENON_NN_INIT_HPP

#include <cmath>
#include <string_view>

#include "tenon/tenon.hpp"

namespace tenon::nn::init {

struct Fans {
  double in, out;
};
// Inputs and outputs of one element of a weight (out, in, kernel…).
inline Fans fans(const Tensor& weight) {
  if (weight.ndim() < 2)
    throw Error(TN_INVALID_ARGUMENT, "[init] a tensor of rank " + std::to_string(weight.ndim()) +
                                         " has no fan-in and fan-out");
  double kernel = 1;
  for (int64_t d = 2; d < weight.ndim(); ++d) kernel *= static_cast<double>(weight.shape(d));
  return {static_cast<double>(weight.shape(1)) * kernel,
          static_cast<double>(weight.shape(0)) * kernel};
}

// The factor that keeps the variance through a nonlinearity; `slope` is leaky_relu's.
inline double gain(std::string_view nonlinearity, double slope = 0.01) {
  if (nonlinearity == "linear" || nonlinearity == "sigmoid") return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "selu") return 0.75;
  if (nonlinearity == "leaky_relu") return std::sqrt(2 / (1 + slope * slope));
  throw Error(TN_INVALID_ARGUMENT, "[init] no gain is known for \"" + std::string(nonlinearity) +
                                       "\": linear, sigmoid, tanh, relu, leaky_relu or selu");
}

inline Tensor& constant_(Tensor& x, double value) {
  NoGrad guard;
  return x.fill_(value);
}
inline Tensor& zeros_(Tensor& x) { return constant_(x, 0); }
inline Tensor& ones_(Tensor& x) { return constant_(x, 1); }
inline Tensor& uniform_(Tensor& x, double low = 0, double high = 1,
                        const Generator& generator = {}) {
  NoGrad guard;
  return x.uniform_(low, high, generator);
}
inline Tensor& normal_(Tensor& x, double mean = 0, double std = 1,
                       const Generator& generator = {}) {
  NoGrad guard;
  return x.normal_(mean, std, generator);
}
inline Tensor& xavier_uniform_(Tensor& x, double gain = 1, const Generator& generator = {}) {
  const Fans f = fans(x);
  const double bound = gain * std::sqrt(6 / (f.in + f.out));
  return uniform_(x, -bound, bound, generator);
}
inline Tensor& xavier_normal_(Tensor& x, double gain = 1, const Generator& generator = {}) {
  const Fans f = fans(x);
  return normal_(x, 0, gain * std::sqrt(2 / (f.in + f.out)), generator);
}
inline Tensor& kaiming_uniform_(Tensor& x, double slope = 0,
                                std::string_view nonlinearity = "leaky_relu", bool fan_out = false,
                                const Generator& generator = {}) {
  const Fans f = fans(x);
  const double bound = gain(nonlinearity, slope) * std::sqrt(3 / (fan_out ? f.out : f.in));
  return uniform_(x, -bound, bound, generator);
}
inline Tensor& kaiming_normal_(Tensor& x, double slope = 0,
                               std::string_view nonlinearity = "leaky_relu", bool fan_out = false,
                               const Generator& generator = {}) {
  const Fans f = fans(x);
  return normal_(x, 0, gain(nonlinearity, slope) / std::sqrt(fan_out ? f.out : f.in), generator);
}

namespace detail {
// What Linear and convolutions begin with: uniform within 1/√fan_in, for weights and biases.
inline Tensor layer_default(IntList shape, double fan_in) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(fan_in) : 0;
  return uniform(shape, -bound, bound);
}
}  // namespace detail

}  // namespace tenon::nn::init
#endif
