// Shape rules of convolution and its two backward ops.
#include "shape/window.hpp"

namespace tenon::core {
namespace {

struct ConvSizes {
  std::span<const int64_t> x, weight;  // (N, C, spatial…), (O, C/groups, kernel…)
};

// Checks operands and attributes (stride, padding, dilation, groups from argument `at` on) and
// gives the output's shape.
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
                "weight of shape {} takes {} channels a group, x of shape {} has {}",
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

// A backward op: argument 2 is the shape of the result, which is x or the weight of the convolution that gives g; argument 1 is
// the other of them.
void conv_backward(Frame& frame, bool to_input) {
  const tn_dtype dtype = numeric_pair(frame);
  const auto shape = shape_argument(frame, 2), other = frame.tensor(1).sizes();
  const Dims expected =
      conv_shape(frame, to_input ? ConvSizes{shape, other} : ConvSizes{other, shape}, 3);
  frame.require(Dims(frame.tensor(0).sizes()) == expected,
                "g has shape {}, the convolution gives {}", format_shape(frame.tensor(0).sizes()),
                format_shape(expected));
  frame.cast_all(dtype);
  frame.result(0, dtype, shape);
}

}  // namespace
}  // namespace tenon::core

TN_RULE(conv) {
  tn_dtype dtype = numeric_pair(frame);
  const auto weight = frame.tensor(1).sizes();
  const Dims out = conv_shape(frame, {frame.tensor(0).sizes(), weight}, 3);
  if (frame.has(2)) dtype = promote(dtype, bias_dtype(frame, 2, weight[0]));
  frame.cast_all(dtype);
  frame.result(0, dtype, out);
}

// shape: of x
TN_RULE(conv_backward_input) { conv_backward(frame, true); }

// shape: of the weight
TN_RULE(conv_backward_weight) { conv_backward(frame, false); }
