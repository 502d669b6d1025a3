// Resampling and padding.
// All are linear: the gradient of the backward op is the forward op.
#include <algorithm>

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

// Sizes after padding, or before it when `sign` is -1. pads: (before, after) of the
// last dimension first.
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

}  // namespace

TN_OP(interpolate) = {
    .schema = "(Tensor x, int[] size, str mode=\"nearest\", bool align_corners=false) -> Tensor",
    .gives = "Resampled to a size: nearest, linear, …",
    .example = "tenon.interpolate(t([[[1., 2.]]]), 4)",
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

// the weights that each element had
TN_GRADIENT(interpolate, {}) {
  c.set(arg::x, interpolate_backward(c.grad(), c.shape(arg::x), c.str(arg::mode),
                                     c.flag(arg::align_corners)));
}

TN_OP(interpolate_backward) = {
    .schema = "(Tensor g, int[] shape, str mode=\"nearest\", bool align_corners=false) -> Tensor",
    .gives = "The gradient of interpolate for its input of the given shape.",
    .example = "tenon.interpolate_backward(t([[[1., 1., 1., 1.]]]), (1, 1, 2))",
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

TN_OP(pad) = {
    .schema = "(Tensor x, int[] pads, str mode=\"constant\", float value=0.0) -> Tensor",
    .gives = "Padded; pads are (before, after) of the last dimension, then of the one before it, …",
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

// the inner part, and what was mirrored from it
TN_GRADIENT(pad, {}) { c.set(arg::x, pad_backward(c.grad(), c.ints(arg::pads), c.str(arg::mode))); }

TN_OP(pad_backward) = {
    .schema = "(Tensor g, int[] pads, str mode=\"constant\") -> Tensor",
    .gives = "The gradient of pad.",
    .example = "tenon.pad_backward(t([[1., 2., 3., 4.]]), (1, 1))",
    .rule = &rule::pad_backward,
    .gradient = &gradient::pad_backward,
};

TN_RULE(pad_backward, pad_backward, {.dtypes = "g's", .shapes = "x's before it was padded"}) {
  const tn_tensor& x = operand(frame, arg::g);
  frame.result(0, x.dtype(),
               padded(frame, x.sizes(), frame.ints(arg::pads), frame.str(arg::mode), -1));
}

// linear in g: its adjoint is pad
TN_GRADIENT(pad_backward, {}) { c.set(arg::g, pad(c.grad(), c.ints(arg::pads), c.str(arg::mode))); }
