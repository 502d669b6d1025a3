// Shapes, and ops that move elements without reading them.
#include <algorithm>
#include <numeric>

#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

// On the host: what is computed from shapes alone folds in a trace.
Tensor shape(const Call& call) {
  const Value& given = call.value(0);
  const Ints sizes = shape_of(given.tensor());
  const auto rank = static_cast<int64_t>(sizes.size());
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    const int64_t at = call.i(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  return host(Ints(sizes.begin() + start, sizes.begin() + end));
}

Tensor reshaped(const Call& call) {
  const Tensor x = call.x(0);
  Ints sizes = call.opset() < 5 ? call.list("shape") : call.ints(1);
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] == 0 && !call.flag("allowzero")) sizes[d] = x.shape(static_cast<int64_t>(d));
  // The other sizes determine a -1 beside a size of 0.
  const auto open = std::ranges::find(sizes, -1);
  if (x.numel() == 0 && open != sizes.end()) {
    int64_t others = 1;
    for (const int64_t size : sizes) others *= size == -1 ? 1 : size;
    *open = others == 0 ? 0 : x.numel() / others;
  }
  return x.reshape(sizes);
}

Tensor transposed(const Call& call) {
  const Tensor x = call.x(0);
  Ints order = call.list("perm");
  if (order.empty())
    for (int64_t d = x.ndim(); d-- > 0;) order.push_back(d);
  return x.permute(order);
}

Tensor squeezed(const Call& call) {
  const Tensor x = call.x(0);
  const Ints axes = call.ints_or(1, "axes");
  return axes.empty() ? x.squeeze() : x.squeeze(wrap(axes, x.ndim()));
}

Tensor unsqueezed(const Call& call) {
  Tensor x = call.x(0);
  Ints axes = call.ints_or(1, "axes");
  axes = wrap(axes, x.ndim() + static_cast<int64_t>(axes.size()));
  std::ranges::sort(axes);
  for (const int64_t axis : axes) x = x.unsqueeze(axis);
  return x;
}

Tensor flattened(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t given = call.i("axis", 1), axis = given == x.ndim() ? given : wrap(given, x.ndim());
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < x.ndim(); ++d) (d < axis ? rows : columns) *= x.shape(d);
  return x.reshape({rows, columns});
}

Results split_of(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t axis = wrap(call.i("axis", 0), x.ndim()), size = x.shape(axis);
  Ints parts = call.ints_or(1, "split");
  if (parts.empty()) {
    const auto count = call.i("num_outputs", static_cast<int64_t>(call.outputs()));
    if (count < 1) call.fail("a split into " + std::to_string(count) + " parts");
    const int64_t each = (size + count - 1) / count;
    for (int64_t at = 0, i = 0; i < count; ++i, at += each)
      parts.push_back(std::clamp<int64_t>(size - at, 0, each));
  }
  std::vector<Tensor> made;
  int64_t at = 0;
  for (const int64_t part : parts) {
    made.push_back(x.narrow(axis, at, part));
    at += part;
  }
  if (at != size)
    call.fail("parts of " + std::to_string(at) + " elements together, of " + std::to_string(size));
  return made;
}

// start:end:step along one dimension; a negative step goes backwards.
Tensor sliced(const Tensor& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  const int64_t size = x.shape(axis);
  const auto bound = [&](int64_t at, int64_t low, int64_t high) {
    if (at < 0) at = at < -size ? -1 : at + size;
    return std::clamp(at, low, high);
  };
  if (step > 0) {
    start = bound(start, 0, size);
    end = std::max(start, bound(end, 0, size));
    return x.slice(axis, start, end, step);
  }
  start = bound(start, -1, size - 1);
  end = std::min(start, end < -size ? -1 : bound(end, -1, size - 1));
  return x.flip(axis).slice(axis, size - 1 - start, size - 1 - end, -step);
}

Tensor slice_of(const Call& call) {
  Tensor x = call.x(0);
  const bool old = call.opset() < 10;
  const Ints starts = old ? call.list("starts") : call.ints(1),
             ends = old ? call.list("ends") : call.ints(2);
  Ints axes = old ? call.list("axes") : call.has(3) ? call.ints(3) : Ints();
  Ints steps = !old && call.has(4) ? call.ints(4) : Ints(starts.size(), 1);
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    call.fail("starts, ends, axes and steps of different lengths");
  for (size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) call.fail("a step of 0");
    x = sliced(x, wrap(axes[i], x.ndim()), starts[i], ends[i], steps[i]);
  }
  return x;
}

Tensor expanded(const Call& call) {
  const Tensor x = call.x(0);
  Ints sizes = call.ints(1);
  // Broadcasts both ways: a 1 keeps the tensor's size.
  const auto rank = static_cast<int64_t>(sizes.size());
  if (rank < x.ndim()) sizes.insert(sizes.begin(), static_cast<size_t>(x.ndim() - rank), 1);
  const auto ahead = static_cast<int64_t>(sizes.size()) - x.ndim();
  for (int64_t d = 0; d < x.ndim(); ++d) {
    int64_t& size = sizes[static_cast<size_t>(d + ahead)];
    if (size == 1) size = x.shape(d);
  }
  return x.expand(sizes);
}

// ONNX's order of pads: all begins, then all ends.
Tensor padded(const Tensor& x, const Ints& begins, const Ints& ends, const std::string& mode,
              double value) {
  Ints pads, cut_axes;
  Tensor y = x;
  const int64_t rank = x.ndim();
  Ints begin = begins, end = ends;
  for (int64_t d = 0; d < rank; ++d) {  // negative pads cut
    const auto at = static_cast<size_t>(d);
    const int64_t low = std::max<int64_t>(0, -begin[at]), high = std::max<int64_t>(0, -end[at]);
    if (low + high > 0) y = y.narrow(d, low, y.shape(d) - low - high);
    begin[at] = std::max<int64_t>(0, begin[at]);
    end[at] = std::max<int64_t>(0, end[at]);
  }
  for (int64_t d = rank; d-- > 0;) {
    pads.push_back(begin[static_cast<size_t>(d)]);
    pads.push_back(end[static_cast<size_t>(d)]);
  }
  while (pads.size() >= 2 && pads[pads.size() - 1] == 0 && pads[pads.size() - 2] == 0)
    pads.resize(pads.size() - 2);
  if (pads.empty()) return y;
  static constexpr std::pair<const char*, const char*> kModes[] = {{"constant", "constant"},
                                                                   {"reflect", "reflect"},
                                                                   {"edge", "replicate"},
                                                                   {"wrap", "circular"}};
  for (const auto& [theirs, ours] : kModes)
    if (mode == theirs) return pad(y, pads, ours, value);
  throw Error(TN_INVALID_ARGUMENT, "mode " + mode);
}

// Whether the op pads like this: not by less than nothing, nor further than the elements reach.
bool pads_at_once(const Tensor& x, const Ints& begins, const Ints& ends, const std::string& mode) {
  bool fits = true;
  for (size_t d = 0; d < begins.size(); ++d) {
    const int64_t size = x.shape()[d], most = std::max(begins[d], ends[d]);
    fits = fits && std::min(begins[d], ends[d]) >= 0;
    if (most > 0)
      fits = fits && size > 0 && (mode == "edge" || most <= size - (mode == "reflect" ? 1 : 0));
  }
  return fits;
}

// Other paddings of modes other than constant go one dimension at a time, by index.
Tensor padded_by_index(const Tensor& x, int64_t axis, int64_t before, int64_t after,
                       const std::string& mode) {
  const int64_t size = x.shape(axis);
  if (size == 0) throw Error(TN_INVALID_ARGUMENT, "padding of a dimension without elements");
  Ints index;
  for (int64_t i = -before; i < size + after; ++i) {
    int64_t at = i;
    if (mode == "edge") {
      at = std::clamp<int64_t>(i, 0, size - 1);
    } else if (mode == "wrap") {
      at = (i % size + size) % size;
    } else {
      const int64_t period = std::max<int64_t>(1, 2 * (size - 1));
      at = (i % period + period) % period;
      if (at >= size) at = period - at;
    }
    index.push_back(at);
  }
  return x.index_select(axis,
                        host(index, static_cast<int64_t>(index.size()), DType::I64, x.device()));
}

Tensor pad_of(const Call& call) {
  Tensor x = call.x(0);
  const auto rank = static_cast<size_t>(x.ndim());
  const Ints pads = call.opset() < 11 ? call.list("pads") : call.ints(1);
  const double value = call.opset() < 11 ? call.f("value", 0) : call.has(2) ? call.number(2) : 0;
  const std::string mode = call.s("mode", "constant");
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = wrap(call.ints(3), x.ndim());
  if (pads.size() != 2 * axes.size())
    call.fail(std::to_string(pads.size()) + " pads of " + std::to_string(axes.size()) + " axes");
  Ints begins(rank), ends(rank);
  for (size_t i = 0; i < axes.size(); ++i) {
    begins[static_cast<size_t>(axes[i])] = pads[i];
    ends[static_cast<size_t>(axes[i])] = pads[i + axes.size()];
  }
  if (mode == "constant") return padded(x, begins, ends, mode, value);
  if (mode != "edge" && mode != "wrap" && mode != "reflect") call.fail("mode " + mode);
  // A program may be of any size, at which other ops would not do.
  if (pads_at_once(x, begins, ends, mode) || (mode == "reflect" && traced(Value(x))))
    return padded(x, begins, ends, mode, value);
  for (size_t d = 0; d < rank; ++d) {
    const auto axis = static_cast<int64_t>(d);
    const int64_t low = std::max<int64_t>(0, -begins[d]), high = std::max<int64_t>(0, -ends[d]);
    if (low + high > 0) x = x.narrow(axis, low, x.shape(axis) - low - high);
    if (begins[d] > 0 || ends[d] > 0)
      x = padded_by_index(x, axis, std::max<int64_t>(0, begins[d]), std::max<int64_t>(0, ends[d]),
                          mode);
  }
  return x;
}

Tensor center_crop_pad(const Call& call) {
  Tensor x = call.x(0);
  const Ints sizes = call.ints(1);
  Ints axes = call.list("axes");
  if (call.find("axes") == nullptr) {
    axes.resize(sizes.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  axes = wrap(axes, x.ndim());
  if (axes.size() != sizes.size()) call.fail("it needs as many sizes as axes");
  const auto rank = static_cast<size_t>(x.ndim());
  Ints begins(rank), ends(rank);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t more = sizes[i] - x.shape()[axis];
    begins[axis] = more < 0 ? -(-more / 2) : more / 2;
    ends[axis] = more - begins[axis];
  }
  return padded(x, begins, ends, "constant", 0);
}

Tensor depth_to_space(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t b = call.i("blocksize", 1), n = x.shape(0), c = x.shape(1), h = x.shape(2),
                w = x.shape(3);
  if (b < 1 || c % (b * b) != 0) call.fail("blocks of " + std::to_string(b));
  if (call.s("mode", "DCR") == "DCR")
    return x.reshape({n, b, b, c / (b * b), h, w})
        .permute({0, 3, 4, 1, 5, 2})
        .reshape({n, c / (b * b), h * b, w * b});
  return x.reshape({n, c / (b * b), b, b, h, w})
      .permute({0, 1, 4, 2, 5, 3})
      .reshape({n, c / (b * b), h * b, w * b});
}

Tensor space_to_depth(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t b = call.i("blocksize", 1), n = x.shape(0), c = x.shape(1), h = x.shape(2),
                w = x.shape(3);
  if (b < 1 || h % b != 0 || w % b != 0) call.fail("blocks of " + std::to_string(b));
  const Tensor blocks = x.reshape({n, c, h / b, b, w / b, b});
  if (call.s("mode", "DCR") == "CRD")
    return blocks.permute({0, 1, 3, 5, 2, 4}).reshape({n, c * b * b, h / b, w / b});
  return blocks.permute({0, 3, 5, 1, 2, 4}).reshape({n, c * b * b, h / b, w / b});
}

}  // namespace

Family shape_ops() {
  static const Entry ops[] = {
      {"Shape", 1, shape},
      {"Size", 1, [](const Call& call) { return tensor(call.value(0).tensor().numel()); }},
      {"Reshape", 1, reshaped},
      {"Transpose", 1, transposed},
      {"Squeeze", 1, squeezed},
      {"Unsqueeze", 1, unsqueezed},
      {"Flatten", 1, flattened},
      {"Concat", 4,
       [](const Call& call) {
         const std::vector<Tensor> parts = call.tensors();
         return concat(parts, call.i("axis", 0));
       }},
      {"Split", 2, split_of},
      {"Slice", 1, slice_of},
      {"Expand", 8, expanded},
      {"Tile", 6, [](const Call& call) { return tile(call.x(0), call.ints(1)); }},
      {"Pad", 2, pad_of},
      {"CenterCropPad", 18, center_crop_pad},
      {"DepthToSpace", 1, depth_to_space},
      {"SpaceToDepth", 1, space_to_depth},
  };
  return ops;
}

}  // namespace tenon::onnx
