// Fractional max pooling (Graham 2014): windows of equal size at random, fractional distances.
#ifndef TENON_NN_FRACTIONAL_POOL_HPP
#define TENON_NN_FRACTIONAL_POOL_HPP

#include "tenon/nn/pool.hpp"

namespace tenon::nn {

struct FractionalMaxPoolOptions {
  std::optional<Sizes> output_size = {};     // set this
  std::optional<Factors> output_ratio = {};  // or this, relative to the input's size
  Tensor _random_samples = {};  // (N, C, dimensions), from 0 to 1; drawn in each forward if absent
};

namespace detail {
// First elements of the windows along a dimension (N, C, count), from samples u (N, C): ⌊(i + u) α⌋ - ⌊u α⌋; the last window is at the end.
inline Tensor window_starts(const Tensor& samples, int64_t size, int64_t kernel, int64_t count) {
  const Tensor index = arange(0, count, 1, DType::I64, samples.device());
  const double step =
      count > 1 ? static_cast<double>(size - kernel) / static_cast<double>(count - 1) : 0;
  const Tensor offset = samples.unsqueeze(-1);
  const Tensor start = trunc((index.to(samples.dtype()) + offset) * step) - trunc(offset * step);
  return where(index == count - 1, size - kernel, start.to(DType::I64));
}
}  // namespace detail

// The maximum of each window over the last Dims dimensions of (N, C, …) or (C, …).
template <size_t Dims>
class FractionalMaxPool : public Module {
 public:
  explicit FractionalMaxPool(Sizes kernel_size, const FractionalMaxPoolOptions& options = {})
      : _random_samples(add_buffer("_random_samples", options._random_samples)),
        kernel_(kernel_size),
        options_(options) {
    detail::check_sizes(describe(), "kernel_size", kernel_size, 1, Dims);
    if (options.output_size.has_value() == options.output_ratio.has_value())
      detail::refuse(describe(), "give either output_size or output_ratio");
    if (options.output_size)
      detail::check_sizes(describe(), "output_size", *options.output_size, 1, Dims);
    if (options.output_ratio)
      for (const double ratio : options.output_ratio->list())
        if (!(ratio > 0 && ratio < 1))
          detail::refuse(describe(), "output_ratio", detail::text_of(ratio),
                         "must be between 0 and 1");
  }
  Tensor forward(const Tensor& x) override { return forward_with_indices(x).values; }
  // Also gives the position of each value in its plane, as MaxUnpool takes it.
  MaxPoolResult forward_with_indices(const Tensor& input) const {
    const bool single = input.ndim() == Dims + 1;
    const Tensor x = single ? input.unsqueeze(0) : input;
    const std::vector<int64_t> sizes = sizes_of(x);
    const Tensor samples = samples_of(x);
    const Tensor places = places_of(x, samples, sizes);  // (N, C, windows, kernel)
    const Tensor found = x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape());
    const Tensor best = argmax(found.detach(), -1, true);
    std::vector<int64_t> shape(sizes);
    shape.insert(shape.begin(), x.shape(1));
    if (!single) shape.insert(shape.begin(), x.shape(0));
    return {found.gather(-1, best).reshape(shape), places.gather(-1, best).reshape(shape)};
  }
  std::string describe() const override { return "FractionalMaxPool" + std::to_string(Dims) + 'd'; }

  Parameter _random_samples;

 private:
  // How many windows there are along each dimension.
  std::vector<int64_t> sizes_of(const Tensor& x) const {
    if (x.ndim() != Dims + 2 || !is_floating(x.dtype()))
      detail::refuse(describe(), "input must be floating, with " + std::to_string(Dims) +
                                     " dimensions behind (N, C), got " +
                                     std::string(name_of(x.dtype())) + ' ' +
                                     detail::text_of(x.shape()));
    std::vector<int64_t> sizes;
    for (size_t d = 0; d < Dims; ++d) {
      const int64_t n = x.shape(static_cast<int64_t>(d) + 2);
      sizes.push_back(options_.output_size ? (*options_.output_size)[d]
                                           : static_cast<int64_t>(static_cast<double>(n) *
                                                                  (*options_.output_ratio)[d]));
      if (sizes[d] < 1 || kernel_[d] + sizes[d] - 1 > n)
        detail::refuse(describe(), std::to_string(sizes[d]) + " windows of " +
                                       std::to_string(kernel_[d]) + " do not fit into " +
                                       std::to_string(n));
    }
    return sizes;
  }
  Tensor samples_of(const Tensor& x) const {
    const int64_t dims = Dims;
    if (!_random_samples.defined())
      return uniform({x.shape(0), x.shape(1), dims}, 0, 1, x.dtype(), x.device());
    const std::vector<int64_t> wanted = {x.shape(0), x.shape(1), dims};
    if (!std::ranges::equal(_random_samples->shape(), wanted))
      detail::refuse(describe(), "_random_samples has shape " +
                                     detail::text_of(_random_samples->shape()) + ", must be " +
                                     detail::text_of(wanted));
    return _random_samples;
  }
  // The places in a plane that each window covers.
  Tensor places_of(const Tensor& x, const Tensor& samples,
                   const std::vector<int64_t>& sizes) const {
    Tensor places = zeros({}, DType::I64, x.device());
    for (size_t d = 0; d < Dims; ++d) {
      const int64_t n = x.shape(static_cast<int64_t>(d) + 2), at = static_cast<int64_t>(d);
      const Tensor own =
          samples.select(2, Dims == 2 ? 1 - at : at);  // in 2d the first sample is for the width
      const Tensor seen = detail::window_starts(own, n, kernel_[d], sizes[d]).unsqueeze(-1) +
                          arange(0, kernel_[d], 1, DType::I64, x.device());
      std::vector<int64_t> wide(2 + 2 * Dims, 1);
      wide[0] = x.shape(0);
      wide[1] = x.shape(1);
      wide[2 + d] = sizes[d];
      wide[2 + Dims + d] = kernel_[d];
      places = places * n + seen.reshape(wide);
    }
    int64_t windows = 1;
    for (const int64_t size : sizes) windows *= size;
    return places.reshape({x.shape(0), x.shape(1), windows, -1});
  }
  Sizes kernel_;
  FractionalMaxPoolOptions options_;
};
using FractionalMaxPool2d = FractionalMaxPool<2>;
using FractionalMaxPool3d = FractionalMaxPool<3>;

namespace functional {
#define TENON_FRACTIONAL_POOL(Dims)                                                         \
  inline MaxPoolResult fractional_max_pool##Dims##d_with_indices(                           \
      const Tensor& x, const Sizes& kernel_size, const FractionalMaxPoolOptions& options) { \
    return FractionalMaxPool<Dims>(kernel_size, options).forward_with_indices(x);           \
  }                                                                                         \
  inline Tensor fractional_max_pool##Dims##d(const Tensor& x, const Sizes& kernel_size,     \
                                             const FractionalMaxPoolOptions& options) {     \
    return fractional_max_pool##Dims##d_with_indices(x, kernel_size, options).values;       \
  }
TENON_FRACTIONAL_POOL(2)
TENON_FRACTIONAL_POOL(3)
#undef TENON_FRACTIONAL_POOL
}  // namespace functional

}  // namespace tenon::nn
#endif
