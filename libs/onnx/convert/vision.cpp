// Boxes, regions of interest and sampling grids.
#include <algorithm>
#include <cmath>

#include "convert/table.hpp"
#include "convert/window.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

Tensor sampled(const Call& call) {
  const std::string mode = call.s("mode", "linear"), padding = call.s("padding_mode", "zeros");
  const char* ours = mode == "linear" || mode == "bilinear" ? "bilinear"
                     : mode == "cubic" || mode == "bicubic" ? "bicubic"
                                                            : "nearest";
  const Tensor x = call.x(0), grid = call.x(1);
  const DType wider = size_of(grid.dtype()) > size_of(x.dtype()) ? grid.dtype() : x.dtype();
  return grid_sample(x.to(wider), grid.to(wider), ours, padding, call.flag("align_corners"))
      .to(x.dtype());
}

// Points (N, spatial…, coordinates) of an affine map of the cube from -1 to 1. The first coordinate is x.
Tensor affine_grid(const Call& call) {
  const Tensor theta = call.x(0);
  const Ints sizes = call.ints(1);
  const bool corners = call.flag("align_corners");
  const size_t rank = sizes.size() - 2;
  if (sizes.size() < 4 || rank > 3) call.fail("it needs a size of 2 or 3 spatial dimensions");
  Ints shape(sizes.begin() + 2, sizes.end());
  std::vector<Tensor> coordinates;
  for (size_t d = rank; d-- > 0;) {
    const auto size = static_cast<double>(shape[d]);
    const Tensor at = arange(0, shape[d], 1, DType::F64);
    const Tensor along = !corners   ? (at * 2 + 1) / size - 1
                         : size > 1 ? at * 2 / (size - 1) - 1
                                    : at - 1;
    Ints one(rank, 1);
    one[d] = shape[d];
    coordinates.push_back(along.to(theta.dtype()).reshape(one).expand(shape));
  }
  coordinates.push_back(ones(shape, theta.dtype()));
  Tensor points =
      stack(coordinates, static_cast<int64_t>(rank)).reshape({-1, static_cast<int64_t>(rank) + 1});
  if (theta.device() != Device("cpu") && !theta.device().id().starts_with("trace"))
    points = points.to(theta.device());
  shape.insert(shape.begin(), theta.shape(0));
  shape.push_back(static_cast<int64_t>(rank));
  return matmul(points, theta.mt()).reshape(shape);
}

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};
Box box_of(const double* four, bool centre) {
  if (centre)
    return {four[1] - four[3] / 2, four[0] - four[2] / 2, four[1] + four[3] / 2,
            four[0] + four[2] / 2};
  return {std::min(four[0], four[2]), std::min(four[1], four[3]), std::max(four[0], four[2]),
          std::max(four[1], four[3])};
}
double overlap(const Box& a, const Box& b) {
  const double h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1),
               w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (h <= 0 || w <= 0) return 0;
  const double both = a.area() + b.area() - h * w;
  return both > 0 ? h * w / both : 0;
}

// Greedy, on the host, because the number of remaining boxes depends on the values.
Tensor non_max_suppression(const Call& call) {
  const Tensor boxes = call.x(0), scores = call.x(1);
  const std::vector<double> box = read<double>(boxes.cpu().contiguous()),
                            score = read<double>(scores.cpu().contiguous());
  const int64_t batches = scores.shape(0), classes = scores.shape(1), n = scores.shape(2);
  if (boxes.numel() != batches * n * 4) call.fail("boxes are four numbers for each score");
  const int64_t most = call.has(2) ? call.integer(2) : 0;
  const double iou = call.has(3) ? call.number(3) : 0,
               least = call.has(4) ? call.number(4) : -INFINITY;
  const bool centre = call.flag("center_point_box");
  Ints found;
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t c = 0; c < classes; ++c) {
      const double* const of_class = score.data() + (b * classes + c) * n;
      Ints order;
      for (int64_t i = 0; i < n; ++i)
        if (of_class[i] > least) order.push_back(i);
      std::ranges::stable_sort(order,
                               [&](int64_t i, int64_t j) { return of_class[i] > of_class[j]; });
      std::vector<Box> kept;
      for (const int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        const Box one = box_of(box.data() + (b * n + i) * 4, centre);
        if (std::ranges::any_of(kept, [&](const Box& other) { return overlap(one, other) > iou; }))
          continue;
        kept.push_back(one);
        found.insert(found.end(), {b, c, i});
      }
    }
  return tensor(found, {static_cast<int64_t>(found.size()) / 3, 3});
}

// The four neighbours of a point of a plane with their weights; none if it lies more than one element outside.
struct Bilinear {
  int64_t low_y, low_x, high_y, high_x;
  double y, x;
  bool outside;
};
Bilinear bilinear(double y, double x, int64_t height, int64_t width) {
  if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width))
    return {0, 0, 0, 0, 0, 0, true};
  const auto one = [](double at, int64_t size, int64_t& low, int64_t& high) {
    at = std::max(at, 0.0);
    low = static_cast<int64_t>(at);
    high = low + 1;
    if (low >= size - 1) {
      low = high = size - 1;
      at = static_cast<double>(low);
    }
    return at - static_cast<double>(low);
  };
  Bilinear made{};
  made.y = one(y, height, made.low_y, made.high_y);
  made.x = one(x, width, made.low_x, made.high_x);
  return made;
}

// Mask R-CNN, section 3: each bin is the mean or maximum of interpolated points. Each of the four neighbours is one gather for all points.
Tensor roi_align(const Call& call) {
  const Tensor x = call.x(0);
  const std::vector<double> rois = read<double>(call.value(1).tensor());
  const Ints batch = call.ints(2);
  const int64_t height = x.shape(2), width = x.shape(3), out_h = call.i("output_height", 1),
                out_w = call.i("output_width", 1), ratio = call.i("sampling_ratio", 0);
  const std::string mode = call.s("mode", "avg");
  const bool half = call.s("coordinate_transformation_mode",
                           call.opset() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  const double scale = call.f("spatial_scale", 1), shift = half ? 0.5 : 0;
  if (rois.size() != 4 * batch.size()) call.fail("rois are four numbers each");
  std::vector<Tensor> made;
  for (size_t r = 0; r < batch.size(); ++r) {
    const double x1 = rois[4 * r] * scale - shift, y1 = rois[4 * r + 1] * scale - shift,
                 x2 = rois[4 * r + 2] * scale - shift, y2 = rois[4 * r + 3] * scale - shift;
    const double w = half ? x2 - x1 : std::max(x2 - x1, 1.0),
                 h = half ? y2 - y1 : std::max(y2 - y1, 1.0);
    const double bin_w = w / static_cast<double>(out_w), bin_h = h / static_cast<double>(out_h);
    const int64_t ny = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(bin_h)),
                  nx = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(bin_w));
    Ints places[4];
    std::vector<double> weights[4];
    for (int64_t i = 0; i < out_h * out_w; ++i)
      for (int64_t k = 0; k < ny * nx; ++k) {
        const int64_t row = i / out_w, below = k / nx;
        const double y =
            y1 + bin_h * (static_cast<double>(row) +
                          (static_cast<double>(below) + 0.5) / static_cast<double>(ny));
        const double at =
            x1 + bin_w * (static_cast<double>(i % out_w) +
                          (static_cast<double>(k % nx) + 0.5) / static_cast<double>(nx));
        const Bilinear p = bilinear(y, at, height, width);
        const double on = p.outside ? 0 : 1;
        const std::pair<int64_t, double> corners[] = {
            {p.low_y * width + p.low_x, (1 - p.y) * (1 - p.x)},
            {p.low_y * width + p.high_x, (1 - p.y) * p.x},
            {p.high_y * width + p.low_x, p.y * (1 - p.x)},
            {p.high_y * width + p.high_x, p.y * p.x}};
        for (size_t c = 0; c < 4; ++c) {
          places[c].push_back(corners[c].first);
          weights[c].push_back(on * corners[c].second);
        }
      }
    const Tensor plane = x.select(0, batch[r]).reshape({x.shape(1), height * width});
    const Ints bins = {x.shape(1), out_h * out_w, ny * nx};
    std::vector<Tensor> parts;
    for (size_t c = 0; c < 4; ++c) {
      const auto count = static_cast<int64_t>(places[c].size());
      parts.push_back((plane.index_select(1, host(places[c], count, DType::I64, x.device())) *
                       tensor(weights[c]).to(x.dtype()).to(x.device()))
                          .reshape(bins));
    }
    const Tensor y = mode == "max"
                         ? maximum(maximum(parts[0], parts[1]), maximum(parts[2], parts[3])).max(2)
                         : (parts[0] + parts[1] + parts[2] + parts[3]).mean(2);
    made.push_back(y.reshape({x.shape(1), out_h, out_w}));
  }
  return made.empty() ? zeros({0, x.shape(1), out_h, out_w}, x.dtype(), x.device())
                      : stack(made, 0);
}

// Deformable convolution (arXiv:1703.06211, with masks arXiv:1811.11168): each kernel position is shifted by an offset and interpolated;
// the results are multiplied like the columns of a plain convolution.
Tensor deform_conv(const Call& call) {
  const Tensor x = call.x(0), weight = call.x(1), offset = call.x(2);
  if (x.ndim() != 4) call.unsupported("deformable convolution of other than two dimensions");
  const Windows windows = windows_of(call, x, {weight.shape().begin() + 2, weight.shape().end()});
  const int64_t n = x.shape(0), channels = x.shape(1), height = x.shape(2), width = x.shape(3);
  const int64_t groups = call.i("group", 1), parts = call.i("offset_group", 1),
                kh = windows.kernel[0], kw = windows.kernel[1];
  const int64_t out_h = window_count(windows, 0, height, false),
                out_w = window_count(windows, 1, width, false);
  const Tensor moves = offset.reshape({n, parts, kh * kw, 2, out_h, out_w});
  const Tensor masks =
      call.has(4) ? call.x(4).reshape({n, parts, kh * kw, out_h, out_w}) : Tensor();
  const Tensor planes = x.reshape({n * parts, channels / parts, height, width});
  const auto along = [&](int64_t count, size_t d, int64_t k, const Ints& shape) {
    std::vector<double> at;
    for (int64_t i = 0; i < count; ++i)
      at.push_back(
          static_cast<double>(i * windows.stride[d] - windows.begin[d] + k * windows.dilation[d]));
    return tensor(at, shape).to(x.dtype()).to(x.device());
  };
  std::vector<Tensor> columns;
  for (int64_t k = 0; k < kh * kw; ++k) {
    const Tensor dy = moves.select(2, k).select(2, 0), dx = moves.select(2, k).select(2, 1);
    const Tensor y = dy + along(out_h, 0, k / kw, {1, 1, out_h, 1}),
                 at = dx + along(out_w, 1, k % kw, {1, 1, 1, out_w});
    // grid_sample's coordinates: -1 to 1 from the first to the last element.
    const auto normal = [](const Tensor& of, int64_t size) {
      return size > 1 ? of * (2.0 / static_cast<double>(size - 1)) - 1.0 : of * 2.0 - 1.0;
    };
    const Tensor grid =
        stack({normal(at, width), normal(y, height)}, 4).reshape({n * parts, out_h, out_w, 2});
    Tensor read = grid_sample(planes, grid, "bilinear", "zeros", true)
                      .reshape({n, parts, channels / parts, out_h, out_w});
    if (masks.defined()) read = read * masks.select(2, k).unsqueeze(2);
    columns.push_back(read.reshape({n, groups, channels / groups, out_h * out_w}));
  }
  const int64_t outs = weight.shape(0);
  const Tensor stacked =
      stack(columns, 3).reshape({n, groups, channels / groups * kh * kw, out_h * out_w});
  Tensor y = matmul(weight.reshape({groups, outs / groups, channels / groups * kh * kw}), stacked)
                 .reshape({n, outs, out_h, out_w});
  return call.has(3) ? y + call.x(3).reshape({outs, 1, 1}) : y;
}

}  // namespace

Family vision_ops() {
  static const Entry ops[] = {
      {"GridSample", 16, sampled},
      {"AffineGrid", 20, affine_grid},
      {"NonMaxSuppression", 10, non_max_suppression},
      {"RoiAlign", 10, roi_align},
      {"DeformConv", 19, deform_conv},
  };
  return ops;
}

}  // namespace tenon::onnx
