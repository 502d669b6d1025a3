// Resampling and padding.
// All are linear in x: the gradient of the backward op is the forward op. grid_sample_backward also depends on the grid: its gradient
// comes from its decomposition.
#include <algorithm>
#include <array>
#include <vector>

#include "ops/gradients.hpp"
#include "ops/record.hpp"
#include "ops/window.hpp"

namespace {

void require_mode(const Frame& frame, std::string_view mode, uint32_t spatial) {
  const bool two = mode == "bilinear" || mode == "bicubic", three = mode == "trilinear";
  frame.require(two || three || mode == "nearest" || mode == "linear",
                "unknown mode \"{}\": nearest, linear, bilinear, trilinear or bicubic", mode);
  const uint32_t wanted = two ? 2 : three ? 3 : spatial;
  frame.require(wanted == spatial, "mode \"{}\" needs {} spatial dimensions, got {}", mode, wanted,
                spatial);
}

// Sizes after padding, or before it if `sign` is -1. pads: (before, after), the last dimension first.
Dims padded(const Frame& frame, std::span<const int64_t> shape, std::span<const int64_t> pads,
            std::string_view mode, int64_t sign) {
  frame.require(pads.size() % 2 == 0 && pads.size() / 2 <= shape.size(),
                "pads {} must be pairs for at most {} dimensions, the last one first",
                format_shape(pads), shape.size());
  bool known = mode == "constant";
  for (const char* name : {"reflect", "replicate", "circular"}) known |= mode == name;
  frame.require(known, "unknown mode \"{}\": constant, reflect, replicate or circular", mode);
  Dims out(shape);
  for (size_t k = 0; k < pads.size() / 2; ++k) {
    const size_t d = shape.size() - 1 - k;
    const int64_t before = pads[2 * k], after = pads[2 * k + 1];
    frame.require(std::min(before, after) >= -INT32_MAX && std::max(before, after) <= INT32_MAX,
                  "pads out of range: {}", format_shape(pads));
    out[d] = shape[d] + sign * (before + after);
    const int64_t inner = sign > 0 ? shape[d] : out[d], outer = sign > 0 ? out[d] : shape[d];
    frame.require(inner >= 0 && outer >= 0 &&
                      inner + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) >= 0,
                  "pads {} leave a negative size of shape {}", format_shape(pads),
                  format_shape(shape));
    if (mode == "constant" || (before == 0 && after == 0)) continue;
    frame.require(before >= 0 && after >= 0, "mode \"{}\" takes no negative pads, got {}", mode,
                  format_shape(pads));
    const int64_t most = mode == "reflect"    ? inner - 1
                         : mode == "circular" ? inner
                         : inner > 0          ? INT32_MAX
                                              : 0;
    frame.require(std::max(before, after) <= most,
                  "mode \"{}\": pads {} too large for dimension {} of size {}", mode,
                  format_shape(pads), d, inner);
  }
  return out;
}

struct GridShape {
  Dims x, out;  // out: (N, C, …) of the result
};

// Checks x, the grid and the modes; `arg` names the op's arguments.
template <class arg>
GridShape grid_shape(const Frame& frame) {
  const tn_tensor &x = operand(frame, arg::x, TN_MASK_FLOAT, "a floating-point dtype"),
                  &grid = operand(frame, arg::grid, TN_MASK_FLOAT, "a floating-point dtype");
  frame.require(x.dtype() == grid.dtype(), "grid has dtype {}, x {}: both must have the same",
                dtype_name(grid.dtype()), dtype_name(x.dtype()));
  const auto from = x.sizes(), at = grid.sizes();
  frame.require(from.size() == 4 || from.size() == 5,
                "x must be (N, C, H, W) or (N, C, D, H, W), got shape {}", format_shape(from));
  const int64_t spatial = static_cast<int64_t>(from.size()) - 2;
  frame.require(at.size() == from.size() && at[0] == from[0] && at.back() == spatial,
                "grid must be ({}, {} sizes of the result, {}) for x of shape {}, got shape {}",
                from[0], spatial, spatial, format_shape(from), format_shape(at));
  for (const int64_t size : from.subspan(2))
    frame.require(size > 0, "x of shape {} has an empty spatial dimension", format_shape(from));
  const std::string_view mode = frame.str(arg::mode), padding = frame.str(arg::padding_mode);
  frame.require(mode == "bilinear" || mode == "nearest" || mode == "bicubic",
                "unknown mode \"{}\": bilinear, nearest or bicubic", mode);
  frame.require(padding == "zeros" || padding == "border" || padding == "reflection",
                "unknown padding_mode \"{}\": zeros, border or reflection", padding);
  frame.require(mode != "bicubic" || spatial == 2,
                "mode \"bicubic\" needs 2 spatial dimensions, got {}", spatial);
  GridShape shape{Dims(from), Dims(from.first(2))};
  for (const int64_t size : at.subspan(1, from.size() - 2)) shape.out.push(size);
  return shape;
}

// One tap of each output (N, P): its position in x's plane, whether that lies inside, its weight, and how the weight changes with each
// coordinate; the coordinate of x's last dimension comes last.
struct Tap {
  Tensor at, inside, weight;
  std::vector<Tensor> slopes;
};

// A coordinate as a position along a dimension, in elements, and its derivative.
struct GridPlace {
  Tensor at, slope;
};

// The decomposition of grid_sample; plugins/common/grid.hpp has the same formulas for kernels.
struct GridReader {
  std::string_view mode, padding;
  bool align;

  // NaN counts as −1; anything beyond ±2^30 is clamped.
  GridPlace place(const Tensor& coordinate, int64_t size) const {
    const double half = static_cast<double>(align ? size - 1 : size) / 2;
    const Tensor nan = isnan(coordinate);
    const Tensor c = clamp(where(nan, -1, coordinate), -0x1p30, 0x1p30);
    return {(c + 1) * half - (align ? 0 : 0.5), logical_not(nan).to(c.dtype()) * half};
  }

  // Clamped to the dimension; the slope is 0 where it was outside.
  static GridPlace clipped(const GridPlace& place, int64_t size) {
    const double last = static_cast<double>(size - 1);
    const Tensor within = logical_and(greater(place.at, 0), less(place.at, last));
    return {clamp(place.at, 0, last), place.slope * within.to(place.at.dtype())};
  }

  // Mirrored at the centres of the outer elements, or at their outer edges.
  GridPlace reflected(const GridPlace& place, int64_t size) const {
    const double low = align ? 0 : -0.5, span = static_cast<double>(align ? size - 1 : size);
    if (span == 0) return {place.at * 0, place.slope * 0};
    const Tensor behind = place.at - low, rest = remainder(abs(behind), 2 * span);
    const Tensor back = greater_equal(rest, span);
    const Tensor turned = logical_xor(back, less(behind, 0));
    return {where(back, 2 * span - rest, rest) + low, where(turned, neg(place.slope), place.slope)};
  }

  std::vector<Tap> along(const Tensor& coordinate, int64_t size) const {
    GridPlace at = place(coordinate, size);
    if (mode == "bicubic") return cubic(at, size);
    if (padding == "border") at = clipped(at, size);
    if (padding == "reflection") at = clipped(reflected(at, size), size);
    at.at = clamp(at.at, -0x1p30, 0x1p30);
    if (mode == "nearest")
      return {tap(round(at.at), size, ones(at.at.shape(), at.at), zeros(at.at.shape(), at.at))};
    const Tensor base = floor(at.at), t = at.at - base;
    return {tap(base, size, 1 - t, neg(at.slope)), tap(base + 1, size, t, at.slope)};
  }

  // Keys' cubic convolution with a = −3/4; each of its places is padded on its own.
  std::vector<Tap> cubic(const GridPlace& given, int64_t size) const {
    const double period = 2 * static_cast<double>(align ? size - 1 : size);
    const bool turns = padding == "reflection" && period != 0;
    const Tensor at = turns ? remainder(given.at, period) : clamp(given.at, -0x1p30, 0x1p30);
    const Tensor base = floor(at), t = at - base;
    std::vector<Tap> taps;
    for (int64_t k = 0; k < 4; ++k) {
      const Tensor x = k < 2 ? t + (1 - k) : (k - 1) - t;
      const bool near = k == 1 || k == 2;
      const Tensor weight =
          near ? ((1.25 * x - 2.25) * x) * x + 1 : ((-0.75 * x + 3.75) * x - 6) * x + 3;
      const Tensor rise = near ? (3.75 * x - 4.5) * x : (-2.25 * x + 7.5) * x - 6;
      taps.push_back(tap(padded(base + (k - 1), size, period), size, weight,
                         (k < 2 ? given.slope : neg(given.slope)) * rise));
    }
    return taps;
  }
  Tensor padded(const Tensor& at, int64_t size, double period) const {
    if (padding == "zeros") return at;
    if (padding == "border" || period == 0) return clamp(at, 0, static_cast<double>(size - 1));
    const Tensor rest = remainder(at, period);
    return minimum(rest, period - (align ? 0 : 1) - rest);
  }

  // Positions outside the dimension read its first element and do not count.
  static Tap tap(const Tensor& at, int64_t size, Tensor weight, Tensor slope) {
    const Tensor inside =
        logical_and(greater_equal(at, 0), less_equal(at, static_cast<double>(size - 1)));
    return {where(inside, at, 0).to(DType::I64), inside, std::move(weight), {std::move(slope)}};
  }

  // The taps of every output, as positions in x's planes (N, C, …).
  std::vector<Tap> taps(const Tensor& x, const Tensor& grid) const {
    const int64_t spatial = x.ndim() - 2;
    const auto sizes = grid.shape();
    const Tensor places = reshape(
        wide(grid), {sizes[0], product(sizes.subspan(1, static_cast<size_t>(spatial))), spatial});
    std::vector<Tap> all = along(select(places, -1, spatial - 1), x.shape(2));
    for (int64_t d = 1; d < spatial; ++d) {
      const std::vector<Tap> line = along(select(places, -1, spatial - 1 - d), x.shape(d + 2));
      std::vector<Tap> together;
      for (const Tap& outer : all)
        for (const Tap& inner : line) together.push_back(crossed(outer, inner, x.shape(d + 2)));
      all = std::move(together);
    }
    return all;
  }
  static Tap crossed(const Tap& outer, const Tap& inner, int64_t size) {
    Tap tap{outer.at * size + inner.at,
            logical_and(outer.inside, inner.inside),
            outer.weight * inner.weight,
            {}};
    for (const Tensor& slope : outer.slopes) tap.slopes.push_back(slope * inner.weight);
    tap.slopes.push_back(outer.weight * inner.slopes[0]);
    return tap;
  }
};

// (N, P) repeated for every channel
Tensor for_channels(const Tensor& x, int64_t channels) {
  return expand(unsqueeze(x, 1), {x.shape(0), channels, x.shape(1)});
}
// (N, C, …) with the spatial dimensions merged
Tensor flat_planes(const Tensor& x) {
  return reshape(x, {x.shape(0), x.shape(1), product(x.shape().subspan(2))});
}
// The elements of x (N, C, P) that a tap reads; 0 outside.
Tensor read_tap(const Tap& tap, const Tensor& x) {
  return where(unsqueeze(tap.inside, 1), gather(x, 2, for_channels(tap.at, x.shape(1))), 0);
}

}  // namespace

TN_OP(interpolate) = {
    .schema = "(Tensor x, int[] size, str mode=\"nearest\", bool align_corners=false) -> Tensor",
    .gives = "x resampled to a size: nearest, linear, …",
    .example = "tenon.interpolate(t([[[1., 2.]]]), 4)",
    .linear = "x",
    .rule = &rule::interpolate,
    .gradient = &gradient::interpolate,
};

TN_RULE(interpolate, interpolate,
        {.dtypes = "floating", .shapes = "x (N, C, spatial…) gives (N, C, size…)"}) {
  const tn_tensor& x = operand(frame, arg::x, TN_MASK_FLOAT, "a floating-point dtype");
  const Dims out = resized(frame, arg::x, arg::size);
  require_mode(frame, frame.str(arg::mode), out.n - 2);
  frame.result(0, x.dtype(), out);
}

// g distributed with the weights that each element had
TN_GRADIENT(interpolate, {}) {
  c.set(arg::x, interpolate_backward(c.grad(), c.shape(arg::x), c.str(arg::mode),
                                     c.flag(arg::align_corners)));
}

TN_OP(interpolate_backward) = {
    .schema = "(Tensor g, int[] shape, str mode=\"nearest\", bool align_corners=false) -> Tensor",
    .gives = "The gradient of interpolate for its input of the given shape.",
    .example = "tenon.interpolate_backward(t([[[1., 1., 1., 1.]]]), (1, 1, 2))",
    .linear = "g",
    .rule = &rule::interpolate_backward,
    .gradient = &gradient::interpolate_backward,
};

TN_RULE(interpolate_backward, interpolate_backward, {.dtypes = "floating", .shapes = "`shape`"}) {
  resize_backward(frame, arg::g, arg::shape);
  require_mode(frame, frame.str(arg::mode), frame.tensor(arg::g).ndim() - 2);
}

// linear in g: its adjoint is interpolate
TN_GRADIENT(interpolate_backward, {}) {
  c.set(arg::g, interpolate(c.grad(), c.shape(arg::g).subspan(2), c.str(arg::mode),
                            c.flag(arg::align_corners)));
}

TN_OP(grid_sample) = {
    .schema =
        "(Tensor x, Tensor grid, str mode=\"bilinear\", str padding_mode=\"zeros\", bool "
        "align_corners=false) -> Tensor",
    .gives =
        "x read at the positions in grid: (x, y) or (x, y, z) from −1 to 1, which are the centres "
        "of the outer elements with align_corners, otherwise their outer edges. mode: bilinear, "
        "nearest or, with 2 spatial dimensions, bicubic. padding_mode says what is read outside: "
        "zeros, border or reflection. NaN counts as −1.",
    .example = "tenon.grid_sample(t([[[[1., 2.], [3., 4.]]]]), t([[[[0., 0.], [0.5, -0.5]]]]))",
    .autocast = "f32",
    .rule = &rule::grid_sample,
    .gradient = &gradient::grid_sample,
    .decompose = &decomposition::grid_sample,
};

TN_RULE(grid_sample, grid_sample,
        {.dtypes = "floating, the same for both",
         .shapes = "x (N, C, H, W) and grid (N, Ho, Wo, 2) give (N, C, Ho, Wo); x (N, C, D, H, W) "
                   "and grid (N, Do, Ho, Wo, 3) give (N, C, Do, Ho, Wo)"}) {
  frame.result(0, frame.tensor(arg::x).dtype(), grid_shape<arg>(frame).out);
}

// x: g distributed with the weights that each element had; grid: g times the slope of x there
TN_GRADIENT(grid_sample, {.always = in_(arg::x) | in_(arg::grid)}) {
  const auto grads = grid_sample_backward(c.grad(), c.in(arg::x), c.in(arg::grid), c.str(arg::mode),
                                          c.str(arg::padding_mode), c.flag(arg::align_corners));
  c.set(arg::x, grads.gx);
  c.set(arg::grid, grads.ggrid);
}

TN_DECOMPOSE(grid_sample) {
  const Tensor x = in.tensor(arg::x), grid = in.tensor(arg::grid);
  const GridReader reader{in.str(arg::mode), in.str(arg::padding_mode),
                          in.flag(arg::align_corners)};
  const Tensor planes = flat_planes(wide(x));
  Tensor sum;
  for (const Tap& tap : reader.taps(x, grid)) {
    const Tensor share = read_tap(tap, planes) * unsqueeze(tap.weight, 1);
    sum = sum.defined() ? sum + share : share;
  }
  Sizes shape(x.shape().first(2));
  for (const int64_t size : grid.shape().subspan(1, static_cast<size_t>(x.ndim() - 2)))
    shape.push(size);
  out[0] = reshape(sum, shape).to(x.dtype());
}

TN_OP(grid_sample_backward) = {
    .schema =
        "(Tensor g, Tensor x, Tensor grid, str mode=\"bilinear\", str "
        "padding_mode=\"zeros\", bool align_corners=false) -> Tensor gx, Tensor ggrid",
    .gives = "The gradients of grid_sample.",
    .example =
        "tenon.grid_sample_backward(t([[[[1.]]]]), t([[[[1., 2.], [3., 4.]]]]), "
        "t([[[[0., 0.]]]])).ggrid",
    .rule = &rule::grid_sample_backward,
    .through = true,
    .decompose = &decomposition::grid_sample_backward,
};

TN_RULE(grid_sample_backward, grid_sample_backward,
        {.dtypes = "floating, the same for all", .shapes = "those of x and of grid"}) {
  const GridShape shape = grid_shape<arg>(frame);
  const tn_dtype dtype = frame.tensor(arg::x).dtype();
  parameter(frame, arg::g, shape.out, dtype);
  frame.result(arg::result::gx, dtype, shape.x);
  frame.result(arg::result::ggrid, dtype, frame.tensor(arg::grid).sizes());
}

TN_DECOMPOSE(grid_sample_backward) {
  const Tensor x = in.tensor(arg::x), grid = in.tensor(arg::grid);
  const GridReader reader{in.str(arg::mode), in.str(arg::padding_mode),
                          in.flag(arg::align_corners)};
  const Tensor g = flat_planes(wide(in.tensor(arg::g))), planes = flat_planes(wide(x));
  Tensor gx = zeros(planes.shape(), planes);
  std::vector<Tensor> moves(static_cast<size_t>(x.ndim() - 2));
  for (const Tap& tap : reader.taps(x, grid)) {
    const Tensor share = where(unsqueeze(tap.inside, 1), g * unsqueeze(tap.weight, 1), 0);
    gx = scatter_add(gx, 2, for_channels(tap.at, x.shape(1)), share);
    const Tensor along = sum(g * read_tap(tap, planes), 1);
    for (size_t d = 0; d < moves.size(); ++d) {
      const Tensor move = along * tap.slopes[d];
      Tensor& total = moves[moves.size() - 1 - d];  // coordinates are ordered from the last
                                                    // dimension
      total = total.defined() ? total + move : move;
    }
  }
  out[arg::result::gx] = reshape(gx, x.shape()).to(x.dtype());
  out[arg::result::ggrid] = reshape(stack(moves, -1), grid.shape()).to(grid.dtype());
}

TN_OP(pad) = {
    .schema = "(Tensor x, int[] pads, str mode=\"constant\", float value=0.0) -> Tensor",
    .gives =
        "x padded; pads are (before, after) for the last dimension, then for the one before it, …",
    .example = "tenon.pad(t([[1., 2.]]), (1, 1))",
    .rule = &rule::pad,
    .gradient = &gradient::pad,
};

TN_RULE(pad, pad,
        {.dtypes = "any; the result has x's",
         .shapes = "x's, each padded dimension longer by both of its pads"}) {
  const tn_tensor& x = operand(frame, arg::x);
  frame.result(0, x.dtype(),
               padded(frame, x.sizes(), frame.ints(arg::pads), frame.str(arg::mode), 1));
}

// the inner part, plus what was mirrored from it
TN_GRADIENT(pad, {}) { c.set(arg::x, pad_backward(c.grad(), c.ints(arg::pads), c.str(arg::mode))); }

TN_OP(pad_backward) = {
    .schema = "(Tensor g, int[] pads, str mode=\"constant\") -> Tensor",
    .gives = "The gradient of pad.",
    .example = "tenon.pad_backward(t([[1., 2., 3., 4.]]), (1, 1))",
    .linear = "g",
    .rule = &rule::pad_backward,
    .gradient = &gradient::pad_backward,
};

TN_RULE(pad_backward, pad_backward,
        {.dtypes = "numeric; the result has g's", .shapes = "x's before padding"}) {
  const tn_tensor& x = operand(frame, arg::g);
  frame.result(0, x.dtype(),
               padded(frame, x.sizes(), frame.ints(arg::pads), frame.str(arg::mode), -1));
}

// linear in g: its adjoint is pad
TN_GRADIENT(pad_backward, {}) { c.set(arg::g, pad(c.grad(), c.ints(arg::pads), c.str(arg::mode))); }
