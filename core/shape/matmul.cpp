// Shape rules of matrix products.
#include "shape/window.hpp"

// NumPy's rules: a vector on the left is a row, on the right a column; leading dimensions
// broadcast.
TN_RULE(matmul) {
  const tn_dtype dtype = numeric_pair(frame);
  const auto x = frame.tensor(0).sizes(), y = frame.tensor(1).sizes();
  frame.require(!x.empty() && !y.empty(),
                "operands need at least one dimension, got shapes {} and {}", format_shape(x),
                format_shape(y));
  const int64_t inner = x.back();
  const int64_t rows = y.size() == 1 ? y[0] : y[y.size() - 2];
  frame.require(inner == rows, "inner sizes differ: shapes {} and {} ({} and {})", format_shape(x),
                format_shape(y), inner, rows);
  const auto batch = [](std::span<const int64_t> shape) {
    return shape.first(shape.size() < 2 ? 0 : shape.size() - 2);
  };
  Dims out = x.size() <= 2   ? Dims(batch(y))
             : y.size() <= 2 ? Dims(batch(x))
                             : broadcast_shapes(frame, batch(x), batch(y));
  if (x.size() > 1) out.push(x[x.size() - 2]);
  if (y.size() > 1) out.push(y.back());
  frame.cast_all(dtype);
  frame.result(0, dtype, out);
}

// x (…, in) with weight (out, in): x·weightᵀ + bias, then the activation.
TN_RULE(linear) {
  tn_dtype dtype = numeric_pair(frame);
  const auto x = frame.tensor(0).sizes(), weight = frame.tensor(1).sizes();
  frame.require(!x.empty(), "x needs at least one dimension");
  frame.require(weight.size() == 2, "weight must be (out, in), got shape {}", format_shape(weight));
  frame.require(x.back() == weight[1],
                "x of shape {} does not fit weight of shape {} ({} and {} features)",
                format_shape(x), format_shape(weight), x.back(), weight[1]);
  if (frame.has(2)) dtype = promote(dtype, bias_dtype(frame, 2, weight[0]));
  const std::string_view activation = frame.str(3);
  bool known = activation == "none";
  for (const char* name : {"relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"})
    known |= activation == name;
  frame.require(known,
                "unknown activation \"{}\": none, relu, gelu, gelu_tanh, silu, sigmoid or tanh",
                activation);
  frame.require(activation == "none" || activation == "relu" || is_floating(dtype),
                "activation \"{}\" needs a floating-point dtype, got {}", activation,
                dtype_name(dtype));
  frame.require(activation != "relu" || !is_complex(dtype),
                "activation \"relu\" needs a real dtype, got {}", dtype_name(dtype));
  frame.cast_all(dtype);
  Dims out(x);
  out[out.n - 1] = weight[0];
  frame.result(0, dtype, out);
}
