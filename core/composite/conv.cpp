// Products and convolutions made of others.
#include "composite/composite.hpp"
#include "shape/window.hpp"

// x·weightᵀ + bias, then the activation
TN_DECOMPOSE(linear) {
  Tensor y = matmul(in.tensor(0), transpose(in.tensor(1), 0, 1));
  if (in.has(2)) y = y + in.tensor(2);
  const std::string_view activation = in.str(3);
  out[0] = activation == "none"        ? y
           : activation == "relu"      ? relu(y)
           : activation == "gelu"      ? gelu(y)
           : activation == "gelu_tanh" ? gelu(y, "tanh")
           : activation == "silu"      ? silu(y)
           : activation == "sigmoid"   ? sigmoid(y)
                                       : tanh(y);
}

// scale_a·scale_b·(a b) + bias in f32, which holds each product of elements exactly
TN_DECOMPOSE(scaled_matmul) {
  Tensor y = matmul(in.tensor(0).to(DType::F32), in.tensor(1).to(DType::F32));
  y = y * (in.tensor(2) * in.tensor(3));
  if (in.has(4)) y = y + in.tensor(4);
  out[0] = y.to(static_cast<DType>(in.frame().dtype_or(5, TN_DTYPE_F32)));
}

// The adjoint of a convolution with the same weight (C, O/groups, kernel…): what
// conv_backward_input computes.
TN_DECOMPOSE(conv_transpose) {
  const Frame& frame = in.frame();
  const Tensor x = in.tensor(0), weight = in.tensor(1);
  frame.require(x.ndim() >= 3 && x.ndim() <= 5 && weight.ndim() == x.ndim(),
                "x (N, C, spatial…) and weight (C, O/groups, kernel…) do not fit: shapes {} and {}",
                format_shape(x.shape()), format_shape(weight.shape()));
  const auto n = static_cast<uint32_t>(x.ndim() - 2);
  const Dims stride = checked_list(frame, 3, n, 1), padding = checked_list(frame, 4, n, 0),
             extra = checked_list(frame, 5, n, 0), dilation = checked_list(frame, 6, n, 1);
  const int64_t groups = in.integer(7);
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
  if (in.has(2)) {
    std::vector<int64_t> channels(n + 1, 1);
    channels[0] = in.tensor(2).numel();
    frame.require(in.tensor(2).ndim() == 1 && channels[0] == shape[1],
                  "bias must have shape ({}), got {}", shape[1],
                  format_shape(in.tensor(2).shape()));
    y = y + reshape(in.tensor(2), channels);
  }
  out[0] = y;
}
