// Convolution over 1 to 3 dimensions; x: (N, C, spatial…), weight: (O, C/groups, kernel…).
// conv, conv_backward_input and conv_backward_weight are linear in both operands, and the gradient of each consists of the other two.
#include "ops/gradients.hpp"
#include "ops/record.hpp"
#include "ops/window.hpp"

namespace {

struct ConvSizes {
  std::span<const int64_t> x, weight;  // (N, C, spatial…), (O, C/groups, kernel…)
};

// Checks the operands and attributes (stride, padding, dilation, groups from argument `at` on) and returns the output's shape.
Dims conv_shape(Frame& frame, ConvSizes sizes, uint32_t at) {
  const auto [x, weight] = sizes;
  const uint32_t n = spatial_rank(frame, x, "x");
  frame.require(weight.size() == x.size(),
                "weight of shape {} does not fit x of shape {}: ranks differ", format_shape(weight),
                format_shape(x));
  const Dims stride = window_list(frame, at, n, 1), padding = window_list(frame, at + 1, n, 0),
             dilation = window_list(frame, at + 2, n, 1);
  const int64_t groups = frame.integer(at + 3);
  frame.require(groups >= 1, "groups must be 1 or more, got {}", groups);
  frame.require(x[1] % groups == 0 && weight[0] % groups == 0,
                "groups {} must divide the channels of x {} and of the output {}", groups, x[1],
                weight[0]);
  frame.require(weight[1] == x[1] / groups,
                "weight of shape {} takes {} channels per group, x of shape {} has {}",
                format_shape(weight), weight[1], format_shape(x), x[1] / groups);
  Dims out;
  out.push(x[0]);
  out.push(weight[0]);
  for (uint32_t d = 0; d < n; ++d) {
    const int64_t kernel = weight[d + 2];
    frame.require(kernel >= 1 && kernel <= INT32_MAX,
                  "weight of shape {} has an empty kernel, or one beyond 2147483647",
                  format_shape(weight));
    const int64_t padded = x[d + 2] + 2 * padding[d], reach = dilation[d] * (kernel - 1) + 1;
    frame.require(reach <= padded,
                  "kernel of shape {} with dilation {} exceeds x of shape {} with padding {}",
                  format_shape(weight.subspan(2)), format_shape(dilation), format_shape(x),
                  format_shape(padding));
    out.push((padded - reach) / stride[d] + 1);
  }
  return out;
}

// g must have the shape of the convolution's result.
void conv_backward(Frame& frame, tn_dtype dtype, const Dims& expected,
                   std::span<const int64_t> result) {
  const auto found = frame.tensor(arg::conv_backward_input::g).sizes();
  frame.require(Dims(found) == expected, "g has shape {}, the convolution gives {}",
                format_shape(found), format_shape(expected));
  frame.cast_all(dtype);
  frame.result(0, dtype, result);
}

// The three ops with the attributes of the differentiated one; all have them in the same positions.
struct Window {
  using arg = tenon::arg::conv;
  const GradCall& c;
  Tensor forward(const Tensor& x, const Tensor& w) const {
    return conv(x, w, {}, c.ints(arg::stride), c.ints(arg::padding), c.ints(arg::dilation),
                c.integer(arg::groups));
  }
  Tensor to_input(const Tensor& g, const Tensor& w, uint32_t like) const {
    return conv_backward_input(g, w, c.shape(like), c.ints(arg::stride), c.ints(arg::padding),
                               c.ints(arg::dilation), c.integer(arg::groups));
  }
  Tensor to_weight(const Tensor& g, const Tensor& x, uint32_t like) const {
    return conv_backward_weight(g, x, c.shape(like), c.ints(arg::stride), c.ints(arg::padding),
                                c.ints(arg::dilation), c.integer(arg::groups));
  }
};

}  // namespace

TN_OP(conv) = {
    .schema =
        "(Tensor x, Tensor weight, Tensor? bias=none, int[] stride=[1], int[] padding=[0], "
        "int[] dilation=[1], int groups=1) -> Tensor",
    .gives = "Convolution over 1 to 3 dimensions.",
    .example = "tenon.conv(t([[[1., 2., 3.]]]), t([[[1., 1.]]]))",
    .autocast = "low",
    .rule = &rule::conv,
    .gradient = &gradient::conv,
};

TN_RULE(
    conv, conv,
    {.dtypes = "numeric, promoted",
     .shapes =
         "x (N, C, spatial…), weight (O, C/groups, window…), one to three spatial dimensions"}) {
  tn_dtype dtype = numeric_pair(frame, arg::x, arg::weight);
  const auto weight = frame.tensor(arg::weight).sizes();
  const Dims out = conv_shape(frame, {frame.tensor(arg::x).sizes(), weight}, arg::stride);
  if (frame.has(arg::bias)) dtype = promote(dtype, bias_dtype(frame, arg::bias, weight[0]));
  frame.cast_all(dtype);
  frame.result(0, dtype, out);
}

// y = x ⋆ w + b
TN_GRADIENT(conv, {.if_needs = {in_(arg::weight), in_(arg::x)}}) {
  const Tensor g = c.grad();
  if (c.needs(arg::x)) c.set(arg::x, Window{c}.to_input(g, conj_of(c.in(arg::weight)), arg::x));
  if (c.needs(arg::weight))
    c.set(arg::weight, Window{c}.to_weight(g, conj_of(c.in(arg::x)), arg::weight));
  if (!c.needs(arg::bias)) return;
  Sizes others;
  others.push(0);
  for (int64_t d = 2; d < g.ndim(); ++d) others.push(d);
  c.set(arg::bias, sum(g, std::span<const int64_t>(others)));
}

TN_OP(conv_backward_input) = {
    .schema =
        "(Tensor g, Tensor weight, int[] shape, int[] stride=[1], int[] padding=[0], int[] "
        "dilation=[1], int groups=1) -> Tensor",
    .gives = "The gradient of conv for its input of the given shape.",
    .example = "tenon.conv_backward_input(t([[[1., 1.]]]), t([[[1., 1.]]]), (1, 1, 3))",
    .linear = "g, weight",
    .rule = &rule::conv_backward_input,
    .gradient = &gradient::conv_backward_input,
};

TN_RULE(conv_backward_input, conv_backward_input, {.dtypes = "as in `conv`", .shapes = "`shape`"}) {
  const auto shape = shape_argument(frame, arg::shape);
  const tn_dtype dtype = numeric_pair(frame, arg::g, arg::weight);
  const auto weight = frame.tensor(arg::weight).sizes();
  conv_backward(frame, dtype, conv_shape(frame, {shape, weight}, arg::stride), shape);
}

// h = adjoint of (x ↦ x ⋆ w) at g. The gradient u of h has x's shape: g gets u ⋆ w, and w gets the weight gradient for input u.
TN_GRADIENT(conv_backward_input, {.if_needs = {in_(arg::weight), in_(arg::g)}}) {
  const Tensor u = c.grad();
  if (c.needs(arg::g)) c.set(arg::g, Window{c}.forward(u, conj_of(c.in(arg::weight))));
  if (c.needs(arg::weight))
    c.set(arg::weight, Window{c}.to_weight(conj_of(c.in(arg::g)), u, arg::weight));
}

TN_OP(conv_backward_weight) = {
    .schema =
        "(Tensor g, Tensor x, int[] shape, int[] stride=[1], int[] padding=[0], int[] "
        "dilation=[1], int groups=1) -> Tensor",
    .gives = "The gradient of conv for its weight of the given shape.",
    .example = "tenon.conv_backward_weight(t([[[1., 1.]]]), t([[[1., 2., 3.]]]), (1, 1, 2))",
    .linear = "g, x",
    .rule = &rule::conv_backward_weight,
    .gradient = &gradient::conv_backward_weight,
};

TN_RULE(conv_backward_weight, conv_backward_weight,
        {.dtypes = "as in `conv`", .shapes = "`shape`"}) {
  const auto shape = shape_argument(frame, arg::shape);
  const tn_dtype dtype = numeric_pair(frame, arg::g, arg::x);
  const auto x = frame.tensor(arg::x).sizes();
  conv_backward(frame, dtype, conv_shape(frame, {x, shape}, arg::stride), shape);
}

// h = adjoint of (w ↦ x ⋆ w) at g. The gradient u of h has w's shape: g gets x ⋆ u, and x gets the input gradient for weight u.
TN_GRADIENT(conv_backward_weight, {.if_needs = {in_(arg::x), in_(arg::g)}}) {
  const Tensor u = c.grad();
  if (c.needs(arg::g)) c.set(arg::g, Window{c}.forward(conj_of(c.in(arg::x)), u));
  if (c.needs(arg::x)) c.set(arg::x, Window{c}.to_input(conj_of(c.in(arg::g)), u, arg::x));
}

TN_OP(conv_transpose) = {
    .schema =
        "(Tensor x, Tensor weight, Tensor? bias=none, int[] stride=[1], int[] padding=[0], "
        "int[] output_padding=[0], int[] dilation=[1], int groups=1) -> Tensor",
    .gives = "Transposed convolution over 1 to 3 dimensions.",
    .example = "tenon.conv_transpose(t([[[1., 2.]]]), t([[[1., 1.]]]))",
    .autocast = "low",
    .dtypes = "numeric",
    .shapes = "x (N, C, spatial…), weight (C, O/groups, kernel…), bias (O)",
    .through = true,
    .decompose = &decomposition::conv_transpose,
};

// The adjoint of a convolution with the same weight (C, O/groups, kernel…), which is what conv_backward_input computes.
TN_DECOMPOSE(conv_transpose) {
  const Frame& frame = in.frame();
  const Tensor x = in.tensor(arg::x), weight = in.tensor(arg::weight);
  frame.require(x.ndim() >= 3 && x.ndim() <= 5 && weight.ndim() == x.ndim(),
                "x (N, C, spatial…) and weight (C, O/groups, kernel…) do not fit: shapes {} and {}",
                format_shape(x.shape()), format_shape(weight.shape()));
  const auto n = static_cast<uint32_t>(x.ndim() - 2);
  const Dims stride = checked_list(frame, arg::stride, n, 1),
             padding = checked_list(frame, arg::padding, n, 0),
             extra = checked_list(frame, arg::output_padding, n, 0),
             dilation = checked_list(frame, arg::dilation, n, 1);
  const int64_t groups = in.integer(arg::groups);
  frame.require(groups >= 1 && weight.shape(0) == x.shape(1) && x.shape(1) % groups == 0,
                "{} groups, {} channels of x, {} of the weight", groups, x.shape(1),
                weight.shape(0));
  std::vector<int64_t> shape = {x.shape(0), weight.shape(1) * groups};
  for (uint32_t d = 0; d < n; ++d) {
    frame.require(extra[d] < stride[d], "output_padding {} must be smaller than the stride {}",
                  format_shape(extra), format_shape(stride));
    frame.require(x.shape(d + 2) <= INT32_MAX && weight.shape(d + 2) <= INT32_MAX,
                  "sizes beyond 2147483647: x {}, weight {}", format_shape(x.shape()),
                  format_shape(weight.shape()));
    shape.push_back((x.shape(d + 2) - 1) * stride[d] - 2 * padding[d] +
                    dilation[d] * (weight.shape(d + 2) - 1) + extra[d] + 1);
    frame.require(shape.back() > 0, "the result would have shape {}", format_shape(shape));
  }
  Tensor y = conv_backward_input(x, weight, shape, std::span<const int64_t>(stride),
                                 std::span<const int64_t>(padding),
                                 std::span<const int64_t>(dilation), groups);
  if (in.has(arg::bias)) {
    std::vector<int64_t> channels(n + 1, 1);
    channels[0] = in.tensor(arg::bias).numel();
    frame.require(in.tensor(arg::bias).ndim() == 1 && channels[0] == shape[1],
                  "bias must have shape ({}), got {}", shape[1],
                  format_shape(in.tensor(arg::bias).shape()));
    y = y + reshape(in.tensor(arg::bias), channels);
  }
  out[0] = y;
}
