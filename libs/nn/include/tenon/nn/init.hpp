// Initial values of parameters, written in place: Glorot & Bengio 2010 (xavier), He et al. 2015 (kaiming), Saxe et al. 2014 (orthogonal),
// Martens 2010 (sparse).
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
inline void check_rank(std::string_view where, const Tensor& tensor, int64_t least, int64_t most) {
  if (tensor.ndim() >= least && tensor.ndim() <= most) return;
  const std::string several = least == most ? "" : " to " + std::to_string(most);
  nn::detail::refuse(where, "tensor has rank " + std::to_string(tensor.ndim()) + ", must be " +
                                std::to_string(least) + several);
}
}  // namespace detail

// The identity, for a matrix.
inline Tensor& eye_(Tensor& tensor) {
  detail::check_rank("eye_", tensor, 2, 2);
  NoGrad guard;
  return tensor.copy_(eye(tensor.shape(0), tensor.shape(1), 0, tensor.dtype(), tensor.device()));
}
// The weight (out, in, kernel…) of a convolution that returns its input: 1 in the middle of the kernel between channels of the same number.
inline Tensor& dirac_(Tensor& tensor, int64_t groups = 1) {
  detail::check_rank("dirac_", tensor, 3, 5);
  nn::detail::check_least("dirac_", "groups", groups, 1);
  nn::detail::check_groups("dirac_", {tensor.shape(0)}, groups);
  NoGrad guard;
  tensor.fill_(0);
  Tensor middle = tensor;
  while (middle.ndim() > 2) middle = middle.select(2, middle.shape(2) / 2);
  for (Tensor& group : middle.chunk(groups)) eye_(group);
  return tensor;
}
// A matrix, of all dimensions after the first merged, whose rows or columns are orthonormal, times gain. Needs the plugin linalg.
inline Tensor& orthogonal_(Tensor& tensor, double gain = 1, const Generator& generator = {}) {
  detail::check_rank("orthogonal_", tensor, 2, 16);
  if (tensor.numel() == 0) return tensor;
  const int64_t rows = tensor.shape(0), columns = tensor.numel() / rows;
  NoGrad guard;
  const Tensor draw = normal({std::max(rows, columns), std::min(rows, columns)}, 0, 1,
                             tensor.dtype(), tensor.device(), generator);
  const auto qr = Op("linalg.qr").all(draw);
  const Tensor q = qr[0] * qr[1].diagonal().sign();
  return tensor.copy_((rows < columns ? q.t() : q).reshape(tensor.shape()) * gain);
}
// Normal values in a matrix; a share `sparsity` of each column is 0.
inline Tensor& sparse_(Tensor& tensor, double sparsity, double std = 0.01,
                       const Generator& generator = {}) {
  detail::check_rank("sparse_", tensor, 2, 2);
  nn::detail::check_part("sparse_", "sparsity", sparsity);
  NoGrad guard;
  const Tensor draw = uniform(tensor.shape(), 0, 1, DType::F32, tensor.device(), generator);
  const Tensor values = normal(tensor.shape(), 0, std, tensor.dtype(), tensor.device(), generator);
  const double zeroes = std::ceil(sparsity * static_cast<double>(tensor.shape(0)));
  return tensor.copy_(where(draw.argsort(0).argsort(0) < zeroes, 0, values));
}
// Normal values between a and b, by the inverse of the distribution function.
inline Tensor& trunc_normal_(Tensor& tensor, double mean = 0, double std = 1, double a = -2,
                             double b = 2, const Generator& generator = {}) {
  nn::detail::check_positive("trunc_normal_", "std", std);
  if (!(a <= b))
    nn::detail::refuse("trunc_normal_", "b", nn::detail::text_of(b),
                       "must not be below a " + nn::detail::text_of(a));
  NoGrad guard;
  const double wide = std * std::sqrt(2.0);
  uniform_(tensor, std::erf((a - mean) / wide), std::erf((b - mean) / wide), generator);
  return tensor.copy_((tensor.erfinv() * wide + mean).clamp(a, b));
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
