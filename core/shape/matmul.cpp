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

// a (m, k) and b (k, n) of 8-bit floats; the scales are single numbers of f32.
TN_RULE(scaled_matmul) {
  for (const uint32_t i : {0, 1}) {
    operand(frame, i, TN_MASK_F8, "f8_e4m3 or f8_e5m2");
    frame.require_rank(i, 2, 2);
    parameter(frame, 2 + i, {}, TN_DTYPE_F32);
  }
  const auto a = frame.tensor(0).sizes(), b = frame.tensor(1).sizes();
  frame.require(a[1] == b[0], "inner sizes differ: shapes {} and {}", format_shape(a),
                format_shape(b));
  constexpr uint64_t kResults = TN_MASK_HALF | TN_MASK(TN_DTYPE_F32);
  const tn_dtype dtype = real_dtype(frame, 5, TN_DTYPE_F32, kResults, "f32, f16 or bf16");
  parameter(frame, 4, b.subspan(1), dtype);
  frame.result(0, dtype, Dims{{{a[0], b[1]}}});
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
