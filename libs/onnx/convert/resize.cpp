// Resize and Upsample: one op where it does the same, else one dimension after the other, each as a weighted sum of a few gathers.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

// One dimension: its size, its new size, and the part of it that is used.
struct Axis {
  int64_t in, out;
  double scale, start = 0, end = 1;
};

struct Options {
  std::string coordinates, mode, nearest;
  double cubic = -0.75, outside_value = 0;
  bool antialias = false, exclude_outside = false;
};

// The operand's coordinate for an element of the result.
double original(double x, const Axis& axis, const Options& options) {
  const double in = static_cast<double>(axis.in), out = static_cast<double>(axis.out),
               width = axis.scale * in;
  const std::string& mode = options.coordinates;
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "pytorch_half_pixel") return out > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (mode == "half_pixel_symmetric")
    return in / 2 * (1 - out / width) + (x + 0.5) / axis.scale - 0.5;
  if (mode == "tf_crop_and_resize")
    return out > 1 ? axis.start * (in - 1) + x * (axis.end - axis.start) * (in - 1) / (out - 1)
                   : 0.5 * (axis.start + axis.end) * (in - 1);
  if (mode == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  throw Error(TN_INVALID_ARGUMENT, "coordinate_transformation_mode " + mode);
}

int64_t nearest(double x, const std::string& mode) {
  const double found = mode == "round_prefer_ceil" ? std::floor(x + 0.5)
                       : mode == "floor"           ? std::floor(x)
                       : mode == "ceil"            ? std::ceil(x)
                                                   : std::ceil(x - 0.5);
  return static_cast<int64_t>(found);
}

// The interpolation kernels: the triangle, and Keys' cubic convolution (IEEE ASSP 1981, equation 4).
double kernel(double distance, const Options& options) {
  const double d = std::abs(distance), a = options.cubic;
  if (options.mode == "linear") return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// For each tap: an index and a weight for each element of the result.
struct Taps {
  std::vector<Ints> index;
  std::vector<std::vector<double>> weight;
};

Taps taps_of(const Axis& axis, const Options& options) {
  const double squeeze = options.antialias ? std::min(1.0, axis.scale) : 1,
               reach = options.mode == "linear" ? 1 : 2;
  const auto first = static_cast<int64_t>(std::floor(-reach / squeeze)) + 1;
  const auto count = static_cast<size_t>(2 - 2 * first);
  Taps taps{std::vector<Ints>(count), std::vector<std::vector<double>>(count)};
  for (int64_t i = 0; i < axis.out; ++i) {
    const double x = original(static_cast<double>(i), axis, options), low = std::floor(x);
    double sum = 0;
    std::vector<double> weights;
    for (size_t k = 0; k < count; ++k) {
      const int64_t at = static_cast<int64_t>(low) + first + static_cast<int64_t>(k);
      const bool outside = at < 0 || at >= axis.in;
      weights.push_back(options.exclude_outside && outside
                            ? 0
                            : kernel((static_cast<double>(at) - x) * squeeze, options));
      sum += weights.back();
      taps.index[k].push_back(std::clamp<int64_t>(at, 0, axis.in - 1));
    }
    for (size_t k = 0; k < count; ++k)
      taps.weight[k].push_back(options.antialias || options.exclude_outside ? weights[k] / sum
                                                                            : weights[k]);
  }
  return taps;
}

Tensor resized(const Tensor& x, int64_t dim, const Axis& axis, const Options& options) {
  if (axis.in == 0 || axis.out < 0)
    throw Error(TN_INVALID_ARGUMENT,
                "a size of " + std::to_string(axis.in) + " resized to " + std::to_string(axis.out));
  const auto chosen = [&](const Ints& index) {
    return x.index_select(dim, host(index, axis.out, DType::I64, x.device()));
  };
  if (options.mode == "nearest") {
    Ints index;
    for (int64_t i = 0; i < axis.out; ++i)
      index.push_back(std::clamp<int64_t>(
          nearest(original(static_cast<double>(i), axis, options), options.nearest), 0,
          axis.in - 1));
    return chosen(index);
  }
  const Taps taps = taps_of(axis, options);
  Ints along(static_cast<size_t>(x.ndim()), 1);
  along[static_cast<size_t>(dim)] = axis.out;
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : DType::F32;
  Tensor sum;
  for (size_t k = 0; k < taps.index.size(); ++k) {
    Tensor weight = tensor(taps.weight[k], along).to(dtype);
    if (x.device() != Device("cpu") && !x.device().id().starts_with("trace"))
      weight = weight.to(x.device());
    const Tensor part = chosen(taps.index[k]).to(dtype) * weight;
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

// Whether each element of a dimension lies within the operand; the others get extrapolation_value.
Tensor inside(const Axis& axis, const Options& options) {
  Ints found;
  for (int64_t i = 0; i < axis.out; ++i) {
    const double x = original(static_cast<double>(i), axis, options);
    found.push_back(x >= 0 && x <= static_cast<double>(axis.in - 1) ? 1 : 0);
  }
  return host(found);
}

// The mode of the op that resizes all spatial dimensions at once and at any size; "" if the node asks for something else.
std::string mode_at_once(const Tensor& x, const std::vector<Axis>& axes, const Options& options) {
  const std::string& from = options.coordinates;
  bool same =
      axes.size() >= 3 && is_floating(x.dtype()) && !options.antialias && !options.exclude_outside;
  for (size_t d = 0; d < axes.size() && same; ++d) {
    const bool whole =
        static_cast<double>(axes[d].out) == axes[d].scale * static_cast<double>(axes[d].in);
    const bool spatial = d >= 2 && whole && axes[d].in > 0 && axes[d].out > 0 &&
                         (from != "pytorch_half_pixel" || axes[d].out > 1);
    same = d < 2 ? axes[d].scale == 1 : spatial;
  }
  if (!same) return "";
  if (options.mode == "nearest")
    return from == "asymmetric" && options.nearest == "floor" ? "nearest" : "";
  if (from != "half_pixel" && from != "pytorch_half_pixel" && from != "align_corners") return "";
  if (options.mode == "cubic") return axes.size() == 4 && options.cubic == -0.75 ? "bicubic" : "";
  constexpr std::array<const char*, 3> kLinear = {"linear", "bilinear", "trilinear"};
  return axes.size() <= 5 ? kLinear[axes.size() - 3] : "";
}

Tensor resize(const Tensor& given, const std::vector<Axis>& axes, const Options& options) {
  if (const std::string mode = mode_at_once(given, axes, options); !mode.empty()) {
    Ints sizes;
    for (size_t d = 2; d < axes.size(); ++d) sizes.push_back(axes[d].out);
    return interpolate(given, sizes, mode, options.coordinates == "align_corners");
  }
  Tensor x = given;
  for (size_t d = 0; d < axes.size(); ++d) {
    const bool same = axes[d].in == axes[d].out && axes[d].scale == 1 &&
                      options.coordinates != "tf_crop_and_resize";
    if (!same) x = resized(x, static_cast<int64_t>(d), axes[d], options);
  }
  if (options.coordinates == "tf_crop_and_resize")
    for (size_t d = 0; d < axes.size(); ++d) {
      Ints along(axes.size(), 1);
      along[d] = axes[d].out;
      const Tensor holds = not_equal(inside(axes[d], options).reshape(along), 0);
      x = where(holds, x, full_like(x, options.outside_value));
    }
  return is_floating(given.dtype()) ? x : round(x).to(given.dtype());
}

Tensor resize_of(const Call& call) {
  const Tensor x = call.x(0);
  const bool old = call.opset() < 11;  // inputs x and scales; no attributes but mode
  Options options{call.s("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"),
                  call.s("mode", "nearest"),
                  call.s("nearest_mode", old ? "floor" : "round_prefer_floor"),
                  call.f("cubic_coeff_a", -0.75),
                  call.f("extrapolation_value", 0),
                  call.flag("antialias"),
                  call.flag("exclude_outside")};
  if (options.mode != "nearest" && options.mode != "linear" && options.mode != "cubic")
    call.fail("mode " + options.mode);
  std::vector<Axis> axes;
  for (const int64_t size : x.shape()) axes.push_back({size, size, 1});
  Ints dims = call.list("axes");
  if (dims.empty()) {
    dims.resize(axes.size());
    std::iota(dims.begin(), dims.end(), 0);
  }
  dims = wrap(dims, x.ndim());
  const auto numbers = [&](size_t input) {
    return call.has(input) ? read<double>(call.value(input).tensor()) : std::vector<double>();
  };
  const std::vector<double> roi = old ? std::vector<double>() : numbers(1),
                            scales = numbers(old ? 1 : 2);
  const Ints sizes = call.has(3) ? call.ints(3) : Ints();
  if (scales.size() != dims.size() && sizes.size() != dims.size())
    call.fail("neither a scale nor a size of each axis");
  const bool crops = options.coordinates == "tf_crop_and_resize" && roi.size() == 2 * dims.size();
  const std::string policy = call.s("keep_aspect_ratio_policy", "stretch");
  double common = policy == "not_smaller" ? 0 : INFINITY;
  for (size_t i = 0; i < dims.size() && scales.empty(); ++i) {
    const double scale = static_cast<double>(sizes[i]) / static_cast<double>(x.shape(dims[i]));
    common = policy == "not_smaller" ? std::max(common, scale) : std::min(common, scale);
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    Axis& axis = axes[static_cast<size_t>(dims[i])];
    const double in = static_cast<double>(axis.in);
    if (crops) {
      axis.start = roi[i];
      axis.end = roi[i + dims.size()];
    }
    if (!scales.empty()) {
      axis.scale = scales[i];
      axis.out = static_cast<int64_t>(std::floor(in * (axis.end - axis.start) * axis.scale));
    } else if (policy == "stretch") {
      axis.out = sizes[i];
      axis.scale = static_cast<double>(sizes[i]) / in;
    } else {
      axis.scale = common;
      axis.out = static_cast<int64_t>(std::floor(common * in + 0.5));
    }
  }
  return resize(x, axes, options);
}

Tensor upsample(const Call& call) {
  const Tensor x = call.x(0);
  const std::vector<double> scales =
      call.opset() < 9 ? call.floats("scales") : read<double>(call.value(1).tensor());
  if (scales.size() != static_cast<size_t>(x.ndim()))
    call.fail("it needs a scale for each dimension");
  std::vector<Axis> axes;
  for (size_t d = 0; d < scales.size(); ++d) {
    const int64_t size = x.shape()[d];
    axes.push_back(
        {size, static_cast<int64_t>(std::floor(static_cast<double>(size) * scales[d])), scales[d]});
  }
  return resize(x, axes, {"asymmetric", call.s("mode", "nearest"), "floor"});
}

}  // namespace

Family resize_ops() {
  static const Entry ops[] = {
      {"Resize", 10, resize_of},
      {"Upsample", 7, upsample, "", 9},
  };
  return ops;
}

}  // namespace tenon::onnx
