// Resampling over the dimensions after (N, C).
#ifndef TENON_NN_RESAMPLE_HPP
#define TENON_NN_RESAMPLE_HPP

#include "tenon/nn/detail/sizes.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

struct UpsampleOptions {
  std::optional<Sizes> size = {};
  std::optional<Factors> scale_factor = {};
  std::string mode = "nearest";
  std::optional<bool> align_corners = {};  // false if absent
};

namespace detail {
inline void check_upsample(const char* where, const UpsampleOptions& o) {
  if (o.size.has_value() == o.scale_factor.has_value())
    refuse(where, "give either size or scale_factor");
  if (o.size) check_sizes(where, "size", o.size->list(), 1);
  if (o.scale_factor)
    for (const double factor : o.scale_factor->list())
      check_positive(where, "scale_factor", factor);
  check_one_of(where, "mode", o.mode, {"nearest", "linear", "bilinear", "trilinear", "bicubic"});
  if (o.mode == "nearest" && o.align_corners)
    refuse(where, "align_corners is for the modes that interpolate, not \"nearest\"");
}
// The new size of dimension d of `dims` behind (N, C).
inline int64_t upsampled(const char* where, const Tensor& x, size_t d, size_t dims,
                         const UpsampleOptions& o) {
  if (o.size) return (*o.size)[d];
  const Factors& factors = *o.scale_factor;
  if (factors.count() != 1 && factors.count() != dims)
    refuse(where, std::to_string(factors.count()) + " factors for " + std::to_string(dims) +
                      " dimensions");
  const double size = static_cast<double>(x.shape(static_cast<int64_t>(d) + 2)) * factors[d];
  if (!(size < 1e18)) refuse(where, "scale_factor", text_of(factors[d]), "makes no size");
  return static_cast<int64_t>(size);
}
inline Tensor upsample(const char* where, const Tensor& x, const UpsampleOptions& o) {
  const auto dims = static_cast<size_t>(std::max<int64_t>(x.ndim() - 2, 0));
  if (o.size) check_sizes(where, "size", *o.size, 1, dims);
  std::vector<int64_t> size;
  for (size_t d = 0; d < dims; ++d) size.push_back(upsampled(where, x, d, dims, o));
  return interpolate(x, size, o.mode, o.align_corners.value_or(false));
}
}  // namespace detail

namespace functional {
using tenon::grid_sample;

// (N, C, spatial…) resampled to a size, or by factors; mode "nearest", "linear", "bilinear", "trilinear" or "bicubic". What is read
// where follows from the ratio of the sizes, as with PyTorch's recompute_scale_factor.
inline Tensor interpolate(const Tensor& x, const UpsampleOptions& options) {
  nn::detail::check_upsample("interpolate", options);
  return nn::detail::upsample("interpolate", x, options);
}

// The grid for grid_sample of x (N, C, H, W) or (N, C, D, H, W), given `size`. theta (N, 2, 3) or (N, 3, 4) maps each position of the
// result to where it is read.
inline Tensor affine_grid(const Tensor& theta, IntList size, bool align_corners = false) {
  const auto dims = static_cast<int64_t>(size.size()) - 2;
  if (dims != 2 && dims != 3)
    nn::detail::refuse("affine_grid", "size must be (N, C, H, W) or (N, C, D, H, W), got " +
                                          nn::detail::text_of(size));
  nn::detail::check_sizes("affine_grid", "size", size, 1);
  const std::vector<int64_t> wanted = {size[0], dims, dims + 1};
  if (!std::ranges::equal(theta.shape(), wanted) || !is_floating(theta.dtype()))
    nn::detail::refuse("affine_grid", "theta must be floating and of shape " +
                                          nn::detail::text_of(wanted) + ", got " +
                                          std::string(name_of(theta.dtype())) + ' ' +
                                          nn::detail::text_of(theta.shape()));
  std::vector<int64_t> column(static_cast<size_t>(dims) + 2, 1);
  column.front() = size[0];
  column.back() = dims;
  Tensor grid = reshape(select(theta, 2, dims), column);
  for (int64_t d = 0; d < dims; ++d) {  // the first coordinate is that of the last dimension
    const int64_t at = dims - d, n = size[static_cast<size_t>(at) + 1];
    const int64_t whole = align_corners ? std::max<int64_t>(n - 1, 1) : n;
    std::vector<int64_t> row(column.size(), 1);
    row[static_cast<size_t>(at)] = n;
    const Tensor places = arange(0, n, 1, theta.dtype(), theta.device()) * 2 - (n - 1);
    grid = grid + reshape(places / whole, row) * reshape(select(theta, 2, d), column);
  }
  return grid;
}
}  // namespace functional
using functional::affine_grid;

// interpolate() as a module.
class Upsample : public Module {
 public:
  explicit Upsample(const UpsampleOptions& options = {}) : Upsample("Upsample", options) {}
  Tensor forward(const Tensor& x) override { return detail::upsample(name_, x, options_); }
  std::string describe() const override { return name_; }

 protected:
  Upsample(const char* name, const UpsampleOptions& options) : name_(name), options_(options) {
    detail::check_upsample(name, options);
  }

 private:
  const char* name_;
  UpsampleOptions options_;
};

// For (N, C, H, W): the nearest element, or bilinear with aligned corners.
class UpsamplingNearest2d : public Upsample {
 public:
  explicit UpsamplingNearest2d(std::optional<Sizes> size = {},
                               std::optional<Factors> scale_factor = {})
      : Upsample("UpsamplingNearest2d", {.size = size, .scale_factor = scale_factor}) {}
};
class UpsamplingBilinear2d : public Upsample {
 public:
  explicit UpsamplingBilinear2d(std::optional<Sizes> size = {},
                                std::optional<Factors> scale_factor = {})
      : Upsample("UpsamplingBilinear2d", {.size = size,
                                          .scale_factor = scale_factor,
                                          .mode = "bilinear",
                                          .align_corners = true}) {}
};

}  // namespace tenon::nn
#endif
