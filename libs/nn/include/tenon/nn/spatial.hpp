// Moves between pixels and channels, and between windows and columns.
#ifndef TENON_NN_SPATIAL_HPP
#define TENON_NN_SPATIAL_HPP

#include "tenon/nn/detail/sizes.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

struct FoldOptions {
  Sizes dilation = 1;
  Sizes padding = 0;
  Sizes stride = 1;
};
using UnfoldOptions = FoldOptions;

namespace functional {
namespace detail {
inline void check_windows(const char* where, const Sizes& kernel, const FoldOptions& options) {
  nn::detail::check_sizes(where, "kernel_size", kernel, 1, 2);
  nn::detail::check_sizes(where, "dilation", options.dilation, 1, 2);
  nn::detail::check_sizes(where, "padding", options.padding, 0, 2);
  nn::detail::check_sizes(where, "stride", options.stride, 1, 2);
}
inline void check_factor(const char* where, const Tensor& x, int64_t r, bool divides) {
  if (x.ndim() < 3 || r < 1 || !divides)
    nn::detail::refuse(
        where, "shape " + nn::detail::text_of(x.shape()) + " by a factor of " + std::to_string(r));
}
// Splits the last three dimensions of x into five, permutes these, and joins them to three again.
inline Tensor shuffled(const Tensor& x, std::initializer_list<int64_t> five,
                       std::initializer_list<int64_t> order, std::initializer_list<int64_t> three) {
  std::vector<int64_t> lead(x.shape().begin(), x.shape().end() - 3), dims;
  const auto n = static_cast<int64_t>(lead.size());
  const auto behind = [&](std::vector<int64_t> sizes, std::initializer_list<int64_t> more) {
    sizes.insert(sizes.end(), more);
    return sizes;
  };
  for (int64_t d = 0; d < n; ++d) dims.push_back(d);
  for (const int64_t d : order) dims.push_back(n + d);
  return x.reshape(behind(lead, five)).permute(dims).reshape(behind(lead, three));
}
// The number of windows along dimension d, which has `n` entries.
inline int64_t windows(int64_t n, const Sizes& kernel, const FoldOptions& o, size_t d) {
  const int64_t room = n + 2 * o.padding[d] - o.dilation[d] * (kernel[d] - 1) - 1;
  return room < 0 ? 0 : room / o.stride[d] + 1;
}
// The entries that kernel element `at` sees, by window.
inline Tensor seen(const Tensor& x, int64_t dim, int64_t at, int64_t count, const FoldOptions& o,
                   size_t d) {
  const int64_t start = at * o.dilation[d];
  return x.slice(dim, start, start + o.stride[d] * (count - 1) + 1, o.stride[d]);
}
}  // namespace detail

// (…, C · r², H, W) as (…, C, H · r, W · r).
inline Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor) {
  const int64_t r = upscale_factor;
  detail::check_factor("pixel_shuffle", x, r, r > 0 && x.ndim() > 2 && x.shape(-3) % (r * r) == 0);
  const int64_t c = x.shape(-3) / (r * r), h = x.shape(-2), w = x.shape(-1);
  return detail::shuffled(x, {c, r, r, h, w}, {0, 3, 1, 4, 2}, {c, h * r, w * r});
}
// (…, C, H · r, W · r) as (…, C · r², H, W).
inline Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor) {
  const int64_t r = downscale_factor;
  detail::check_factor("pixel_unshuffle", x, r,
                       r > 0 && x.ndim() > 2 && x.shape(-2) % r == 0 && x.shape(-1) % r == 0);
  const int64_t c = x.shape(-3), h = x.shape(-2) / r, w = x.shape(-1) / r;
  return detail::shuffled(x, {c, h, r, w, r}, {0, 2, 4, 1, 3}, {c * r * r, h, w});
}
// Interleaves the groups of channels of (N, C, …).
inline Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  detail::check_factor("channel_shuffle", x, groups,
                       groups > 0 && x.ndim() > 2 && x.shape(1) % groups == 0);
  return x.reshape({x.shape(0), groups, x.shape(1) / groups, -1})
      .transpose(1, 2)
      .reshape(x.shape());
}

// The windows of (N, C, H, W) as columns (N, C · kh · kw, windows), also without a batch.
inline Tensor unfold(const Tensor& input, const Sizes& kernel, const UnfoldOptions& o = {}) {
  detail::check_windows("unfold", kernel, o);
  if (input.ndim() != 3 && input.ndim() != 4)
    nn::detail::refuse("unfold", "input has rank " + std::to_string(input.ndim()) +
                                     ", must be (N, C, H, W) or (C, H, W)");
  const Tensor x = input.ndim() == 3 ? input.unsqueeze(0) : input;
  const int64_t high = detail::windows(x.shape(2), kernel, o, 0),
                wide = detail::windows(x.shape(3), kernel, o, 1);
  if (high < 1 || wide < 1)
    nn::detail::refuse("unfold", "no window of " + nn::detail::text_of({kernel[0], kernel[1]}) +
                                     " fits into " + nn::detail::text_of(input.shape()));
  const Tensor padded = tenon::pad(x, {o.padding[1], o.padding[1], o.padding[0], o.padding[0]});
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < kernel[0]; ++i)
    for (int64_t j = 0; j < kernel[1]; ++j)
      parts.push_back(detail::seen(detail::seen(padded, 2, i, high, o, 0), 3, j, wide, o, 1));
  const Tensor columns =
      stack(parts, 2).reshape({x.shape(0), x.shape(1) * kernel[0] * kernel[1], high * wide});
  return input.ndim() == 3 ? columns.squeeze(0) : columns;
}
// Adds columns (N, C · kh · kw, windows) up at the places of their windows: (N, C, H, W), also without a batch.
inline Tensor fold(const Tensor& input, const Sizes& size, const Sizes& kernel,
                   const FoldOptions& o = {}) {
  nn::detail::check_sizes("fold", "output_size", size, 1, 2);
  detail::check_windows("fold", kernel, o);
  const Tensor x = input.ndim() == 2 ? input.unsqueeze(0) : input;
  const int64_t high = detail::windows(size[0], kernel, o, 0),
                wide = detail::windows(size[1], kernel, o, 1), k = kernel[0] * kernel[1];
  if (x.ndim() != 3 || x.shape(1) % k != 0 || x.shape(2) != high * wide)
    nn::detail::refuse("fold", "input has shape " + nn::detail::text_of(input.shape()) + ": " +
                                   std::to_string(k) + " entries of " +
                                   std::to_string(high * wide) + " windows are needed");
  const int64_t n = x.shape(0), c = x.shape(1) / k, h = size[0] + 2 * o.padding[0],
                w = size[1] + 2 * o.padding[1];
  // The position of every entry in the padded plane.
  const Tensor places = arange(0, h * w, 1, DType::I64, x.device()).reshape({1, 1, h, w});
  const Tensor at = unfold(places, kernel, {.dilation = o.dilation, .stride = o.stride})
                        .reshape({1, -1})
                        .expand({n * c, x.shape(1) / c * x.shape(2)});
  const Tensor plane = scatter_add(zeros({n * c, h * w}, x.dtype(), x.device()), 1, at,
                                   x.reshape({n * c, at.shape(1)}));
  const Tensor y =
      plane.reshape({n, c, h, w}).narrow(2, o.padding[0], size[0]).narrow(3, o.padding[1], size[1]);
  return input.ndim() == 2 ? y.squeeze(0) : y;
}
}  // namespace functional

#define TENON_SHUFFLE(Name, option, function)                                                    \
  class Name : public Module {                                                                   \
   public:                                                                                       \
    explicit Name(int64_t option) : option##_(detail::check_least(#Name, #option, option, 1)) {} \
    Tensor forward(const Tensor& x) override { return function(x, option##_); }                  \
    std::string describe() const override { return #Name; }                                      \
                                                                                                 \
   private:                                                                                      \
    int64_t option##_;                                                                           \
  };
TENON_SHUFFLE(PixelShuffle, upscale_factor, functional::pixel_shuffle)
TENON_SHUFFLE(PixelUnshuffle, downscale_factor, functional::pixel_unshuffle)
TENON_SHUFFLE(ChannelShuffle, groups, functional::channel_shuffle)
#undef TENON_SHUFFLE

class Unfold : public Module {
 public:
  explicit Unfold(Sizes kernel_size, const UnfoldOptions& options = {})
      : kernel_(kernel_size), options_(options) {
    functional::detail::check_windows("Unfold", kernel_size, options);
  }
  Tensor forward(const Tensor& x) override { return functional::unfold(x, kernel_, options_); }
  std::string describe() const override { return "Unfold"; }

 private:
  Sizes kernel_;
  UnfoldOptions options_;
};

class Fold : public Module {
 public:
  Fold(Sizes output_size, Sizes kernel_size, const FoldOptions& options = {})
      : size_(output_size), kernel_(kernel_size), options_(options) {
    detail::check_sizes("Fold", "output_size", output_size, 1, 2);
    functional::detail::check_windows("Fold", kernel_size, options);
  }
  Tensor forward(const Tensor& x) override { return functional::fold(x, size_, kernel_, options_); }
  std::string describe() const override { return "Fold"; }

 private:
  Sizes size_, kernel_;
  FoldOptions options_;
};

}  // namespace tenon::nn
#endif
