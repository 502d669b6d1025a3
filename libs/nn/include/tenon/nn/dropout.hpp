// Random zeroing of elements or channels in training.
#ifndef TENON_NN_DROPOUT_HPP
#define TENON_NN_DROPOUT_HPP

#include <cmath>

#include "tenon/nn/detail/batch.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

namespace functional {
namespace detail {
// x's shape, with size 1 for the dimensions after the channels.
inline std::vector<int64_t> of_channels(const Tensor& x) {
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
  for (size_t d = 2; d < shape.size(); ++d) shape[d] = 1;
  return shape;
}
// Dropout that keeps the mean and variance of SELU's results (Klambauer et al. 2017, section 3).
inline Tensor alpha_dropout(const Tensor& x, double p, IntList shape) {
  if (p == 1) return x * 0;
  const double floor = -1.7580993408473766;  // SELU's limit for very negative x
  const double scale = 1 / std::sqrt((1 - p) * (1 + p * floor * floor));
  const Tensor keep = (uniform(shape, 0, 1, DType::F32, x.device()) >= p).to(x.dtype());
  return (x * keep + floor * (1 - keep)) * scale - scale * p * floor;
}
inline bool drops(const char* where, double p, bool training) {
  return nn::detail::check_part(where, "p", p) > 0 && training;
}
// Zeroes whole channels of (N, C, …) or (C, …).
template <size_t Dims>
Tensor of_channels(const char* where, const Tensor& x, double p, bool training) {
  return nn::detail::of_batch(where, x, Dims, [&](const Tensor& all) {
    if (!drops(where, p, training)) return all;
    if (p == 1) return all * 0;
    return all * dropout_mask(empty(of_channels(all), x.dtype(), x.device()), p);
  });
}
}  // namespace detail

// Zeroes elements and scales the others by 1/(1-p), in training.
inline Tensor dropout(const Tensor& x, double p = 0.5, bool training = true) {
  return detail::drops("dropout", p, training) ? tenon::dropout(x, p, true) : x;
}
// The same of whole channels of (N, C, …) or (C, …).
inline Tensor dropout1d(const Tensor& x, double p = 0.5, bool training = true) {
  return detail::of_channels<1>("dropout1d", x, p, training);
}
inline Tensor dropout2d(const Tensor& x, double p = 0.5, bool training = true) {
  return detail::of_channels<2>("dropout2d", x, p, training);
}
inline Tensor dropout3d(const Tensor& x, double p = 0.5, bool training = true) {
  return detail::of_channels<3>("dropout3d", x, p, training);
}
inline Tensor alpha_dropout(const Tensor& x, double p = 0.5, bool training = false) {
  return detail::drops("alpha_dropout", p, training) ? detail::alpha_dropout(x, p, x.shape()) : x;
}
// The same of whole channels of (N, C, …).
inline Tensor feature_alpha_dropout(const Tensor& x, double p = 0.5, bool training = false) {
  return detail::drops("feature_alpha_dropout", p, training)
             ? detail::alpha_dropout(x, p, detail::of_channels(x))
             : x;
}
}  // namespace functional

namespace detail {
class DropoutBase : public Module {
 public:
  std::string describe() const override { return name_ + ('(' + text_of(p_) + ')'); }

 protected:
  DropoutBase(const char* name, double p) : name_(name), p_(check_part(name, "p", p)) {}
  const char* name_;
  double p_;
};
}  // namespace detail

#define TENON_DROPOUT(Name, function)                                                            \
  class Name : public detail::DropoutBase {                                                      \
   public:                                                                                       \
    explicit Name(double p = 0.5) : DropoutBase(#Name, p) {}                                     \
    Tensor forward(const Tensor& x) override { return functional::function(x, p_, training()); } \
  };
TENON_DROPOUT(Dropout, dropout)
TENON_DROPOUT(Dropout1d, dropout1d)
TENON_DROPOUT(Dropout2d, dropout2d)
TENON_DROPOUT(Dropout3d, dropout3d)
TENON_DROPOUT(AlphaDropout, alpha_dropout)
TENON_DROPOUT(FeatureAlphaDropout, feature_alpha_dropout)
#undef TENON_DROPOUT

}  // namespace tenon::nn
#endif
