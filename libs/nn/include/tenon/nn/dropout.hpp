// Random zeroing of elements or channels in training.
#ifndef TENON_NN_DROPOUT_HPP
#define TENON_NN_DROPOUT_HPP

#include <cmath>

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

namespace detail {
class DropoutBase : public Module {
 public:
  std::string describe() const override { return name_ + ('(' + text_of(p_) + ')'); }

 protected:
  DropoutBase(const char* name, double p) : name_(name), p_(check_part(name, "p", p)) {}
  bool on() const { return training() && p_ > 0; }
  // x's shape, with size 1 for the dimensions after the channels.
  static std::vector<int64_t> of_channels(const Tensor& x) {
    std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
    for (size_t d = 2; d < shape.size(); ++d) shape[d] = 1;
    return shape;
  }
  const char* name_;
  double p_;
};
}  // namespace detail

// Zeroes elements and scales the others by 1/(1-p).
class Dropout : public detail::DropoutBase {
 public:
  explicit Dropout(double p = 0.5) : DropoutBase("Dropout", p) {}
  Tensor forward(const Tensor& x) override { return on() ? dropout(x, p_, true) : x; }
};

// Zeroes whole channels of (N, C, …) or (C, …), with the given number of dimensions after C.
template <size_t Dims>
class DropoutNd : public detail::DropoutBase {
 public:
  explicit DropoutNd(double p = 0.5)
      : DropoutBase(Dims == 1   ? "Dropout1d"
                    : Dims == 2 ? "Dropout2d"
                                : "Dropout3d",
                    p) {}
  Tensor forward(const Tensor& x) override {
    const int64_t rank = Dims + 1;
    if (x.ndim() != rank && x.ndim() != rank + 1)
      detail::refuse(name_, "input has rank " + std::to_string(x.ndim()) + ", must be " +
                                std::to_string(rank) + " or " + std::to_string(rank + 1));
    if (!on()) return x;
    if (p_ == 1) return x * 0;
    const Tensor batch = x.ndim() == rank ? x.unsqueeze(0) : x;
    const Tensor y = batch * dropout_mask(empty(of_channels(batch), x.dtype(), x.device()), p_);
    return x.ndim() == rank ? y.squeeze(0) : y;
  }
};
using Dropout1d = DropoutNd<1>;
using Dropout2d = DropoutNd<2>;
using Dropout3d = DropoutNd<3>;

namespace detail {
// Dropout that keeps the mean and variance of SELU's results (Klambauer et al. 2017, section 3).
inline Tensor alpha_dropout(const Tensor& x, double p, IntList shape) {
  if (p == 1) return x * 0;
  const double floor = -1.7580993408473766;  // SELU's limit for very negative x
  const double scale = 1 / std::sqrt((1 - p) * (1 + p * floor * floor));
  const Tensor keep = (uniform(shape, 0, 1, DType::F32, x.device()) >= p).to(x.dtype());
  return (x * keep + floor * (1 - keep)) * scale - scale * p * floor;
}
}  // namespace detail

class AlphaDropout : public detail::DropoutBase {
 public:
  explicit AlphaDropout(double p = 0.5) : DropoutBase("AlphaDropout", p) {}
  Tensor forward(const Tensor& x) override {
    return on() ? detail::alpha_dropout(x, p_, x.shape()) : x;
  }
};
// Zeroes whole channels of (N, C, …).
class FeatureAlphaDropout : public detail::DropoutBase {
 public:
  explicit FeatureAlphaDropout(double p = 0.5) : DropoutBase("FeatureAlphaDropout", p) {}
  Tensor forward(const Tensor& x) override {
    return on() ? detail::alpha_dropout(x, p_, of_channels(x)) : x;
  }
};

}  // namespace tenon::nn
#endif
