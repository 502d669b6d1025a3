// Matrix products.
#include "dispatch/op.hpp"
#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

// xᴴ of the last two dimensions
Tensor adjoint(const Tensor& x) { return transpose(conj_of(x), -2, -1); }

// x with all dimensions but the last merged
Tensor rows(const Tensor& x) {
  return x.ndim() == 2 ? x
                       : reshape(x, {x.numel() == 0 ? product(x.shape().first(x.ndim() - 1)) : -1,
                                     x.shape(-1)});
}

// Whether the device sums a bias's gradient along with the weight's. Elsewhere the decomposition would only add a call.
bool sums_beside_products(const Tensor& g) {
  static const tn_op& op = builtin("linear_backward_weight");
  const tn_tensor& like = *detail::value(g).as.tensor;
  return !candidates(op, *like.device, like.dtype()).empty();
}

// What the gradient of this activation, or of none, does not read. gelu and silu compute x·weightᵀ + bias again.
uint32_t linear_unread(const tn_value* args) {
  using arg = tenon::arg::linear;
  const std::string_view activation{args[arg::activation].as.str, args[arg::activation].count};
  if (activation.starts_with("gelu") || activation == "silu") return out_(0);
  uint32_t unread = in_(arg::bias) | (activation == "none" ? out_(0) : 0);
  if (!requires_grad(*args[arg::weight].as.tensor)) unread |= in_(arg::x);
  if (!requires_grad(*args[arg::x].as.tensor)) unread |= in_(arg::weight);
  return unread;
}

// The gradient at the input of linear's activation.
Tensor before_activation(const GradCall& c) {
  using arg = tenon::arg::linear;
  const std::string_view activation = c.str(arg::activation);
  Tensor g = c.grad();
  if (activation == "none") return g;
  if (activation == "relu") return relu_backward(g, c.out());
  if (activation == "sigmoid") return sigmoid_backward(g, c.out());
  if (activation == "tanh") return tanh_backward(g, c.out());
  const Tensor z = linear(c.in(arg::x), c.in(arg::weight), c.in(arg::bias));
  if (activation == "silu") return silu_backward(g, z);
  return gelu_backward(g, z, activation == "gelu" ? "none" : "tanh");
}

}  // namespace

TN_OP(matmul) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "Matrix product; leading dimensions broadcast.",
    .example = "tenon.matmul(t([[1., 2.]]), t([[3.], [4.]]))",
    .autocast = "low",
    .linear = "x, y",
    .rule = &rule::matmul,
    .gradient = &gradient::matmul,
};

// NumPy's rules: a vector on the left is a row, on the right a column;
// leading dimensions broadcast.
TN_RULE(
    matmul, matmul,
    {.dtypes = "numeric, promoted",
     .shapes =
         "(…, m, k) and (…, k, n) give (…, m, n); a vector is a row on the left, a column on the "
         "right; leading dimensions broadcast"}) {
  const tn_dtype dtype = numeric_pair(frame, arg::x, arg::y);
  const auto x = frame.tensor(arg::x).sizes(), y = frame.tensor(arg::y).sizes();
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

// d(x·y) = dx·y + x·dy: g·yᴴ and xᴴ·g; a vector is a row on the left and a column on the right
TN_GRADIENT(matmul, {.if_needs = {in_(arg::y), in_(arg::x)}}) {
  const auto x = c.shape(arg::x), y = c.shape(arg::y);
  Tensor g = c.grad();
  if (x.size() == 1 && y.size() == 1) {
    if (c.needs(arg::x)) c.set(arg::x, g * conj_of(c.in(arg::y)));
    if (c.needs(arg::y)) c.set(arg::y, g * conj_of(c.in(arg::x)));
    return;
  }
  if (x.size() == 1) g = unsqueeze(g, -2);
  if (y.size() == 1) g = unsqueeze(g, -1);
  if (c.needs(arg::x)) {
    const Tensor right = y.size() == 1 ? unsqueeze(c.in(arg::y), -1) : c.in(arg::y);
    const Tensor gx = matmul(g, adjoint(right));
    c.set(arg::x, x.size() == 1 ? squeeze(gx, -2) : gx);
  }
  if (c.needs(arg::y)) {
    const Tensor left = x.size() == 1 ? unsqueeze(c.in(arg::x), 0) : c.in(arg::x);
    // One matrix on the right for a batch on the left: one large product instead of a batch of products and a sum.
    const Tensor gy = y.size() <= 2 && left.ndim() > 2 ? matmul(adjoint(rows(left)), rows(g))
                                                       : matmul(adjoint(left), g);
    c.set(arg::y, y.size() == 1 ? squeeze(gy, -1) : gy);
  }
}

TN_OP(scaled_matmul) = {
    .schema =
        "(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b, Tensor? bias=none, dtype? "
        "dtype=none) -> Tensor",
    .gives =
        "a @ b of 8-bit floats times both scales, plus bias, summed in float32; only bias has a "
        "gradient.",
    .example =
        "tenon.scaled_matmul(t([[1., 2.]]).to('float8_e4m3fn'), t([[3.], "
        "[4.]]).to('float8_e4m3fn'), t(0.5), t(2.))",
    .rule = &rule::scaled_matmul,
    .gradient = &gradient::scaled_matmul,
    .decompose = &decomposition::scaled_matmul,
};

// a (m, k) and b (k, n) of 8-bit floats; the scales are single f32 numbers.
TN_RULE(scaled_matmul, scaled_matmul,
        {.dtypes = "f8_e4m3 or f8_e5m2; scales are f32; the result is f16, bf16 or f32",
         .shapes = "(m, k) and (k, n) give (m, n)"}) {
  for (const auto& [matrix, scale] :
       {std::pair{arg::a, arg::scale_a}, std::pair{arg::b, arg::scale_b}}) {
    operand(frame, matrix, TN_MASK_F8, "f8_e4m3 or f8_e5m2");
    require_rank(frame, matrix, 2, 2);
    parameter(frame, scale, {}, TN_DTYPE_F32);
  }
  const auto a = frame.tensor(arg::a).sizes(), b = frame.tensor(arg::b).sizes();
  frame.require(a[1] == b[0], "inner sizes differ: shapes {} and {}", format_shape(a),
                format_shape(b));
  constexpr uint64_t kResults = TN_MASK_HALF | TN_MASK(TN_DTYPE_F32);
  const tn_dtype dtype = real_dtype(frame, arg::dtype, TN_DTYPE_F32, kResults, "f32, f16 or bf16");
  parameter(frame, arg::bias, b.subspan(1), dtype);
  frame.result(0, dtype, Dims{{{a[0], b[1]}}});
}

// y = s·(a b) + bias; a, b and the scales are constants
TN_GRADIENT(scaled_matmul, {}) {
  if (c.needs(arg::scale_a) || c.needs(arg::scale_b))
    fail(TN_UNIMPLEMENTED, "[scaled_matmul] scales have no gradient: detach() them");
  if (c.needs(arg::bias)) c.set(arg::bias, c.grad());
}

// scale_a·scale_b·(a b) + bias in f32, in which each product of two elements is exact
TN_DECOMPOSE(scaled_matmul) {
  Tensor y = matmul(in.tensor(arg::a).to(DType::F32), in.tensor(arg::b).to(DType::F32));
  y = y * (in.tensor(arg::scale_a) * in.tensor(arg::scale_b));
  if (in.has(arg::bias)) y = y + in.tensor(arg::bias);
  out[0] = y.to(static_cast<DType>(in.frame().dtype_or(arg::dtype, TN_DTYPE_F32)));
}

TN_OP(linear) = {
    .schema = "(Tensor x, Tensor weight, Tensor? bias=none, str activation=\"none\") -> Tensor",
    .gives =
        "x·weightᵀ + bias, then an activation: none, relu, gelu, gelu_tanh, silu, sigmoid or "
        "tanh",
    .example = "tenon.linear(t([[1., 2.]]), t([[3., 4.]]), t([1.]))",
    .autocast = "low",
    .rule = &rule::linear,
    .gradient = &gradient::linear,
    .decompose = &decomposition::linear,
};

// x (…, in) with weight (out, in): x·weightᵀ + bias, then the activation.
TN_RULE(linear, linear,
        {.dtypes = "numeric, promoted",
         .shapes = "x (…, in), weight (out, in), bias (out) give (…, out)"}) {
  tn_dtype dtype = numeric_pair(frame, arg::x, arg::weight);
  const auto x = frame.tensor(arg::x).sizes(), weight = frame.tensor(arg::weight).sizes();
  frame.require(!x.empty(), "x needs at least one dimension");
  frame.require(weight.size() == 2, "weight must be (out, in), got shape {}", format_shape(weight));
  frame.require(x.back() == weight[1],
                "x of shape {} does not fit weight of shape {} ({} and {} features)",
                format_shape(x), format_shape(weight), x.back(), weight[1]);
  if (frame.has(arg::bias)) dtype = promote(dtype, bias_dtype(frame, arg::bias, weight[0]));
  const std::string_view activation = frame.str(arg::activation);
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

// z = x·wᵀ + b: g·w, gᵀ·x and g, after the gradient of the activation
TN_GRADIENT(linear, {.always = in_(arg::x) | in_(arg::weight) | in_(arg::bias) | out_(0),
                     .unread = linear_unread}) {
  const Tensor g = before_activation(c);
  if (c.needs(arg::x)) c.set(arg::x, matmul(g, conj_of(c.in(arg::weight))));
  if (c.needs(arg::weight) && c.needs(arg::bias) && sums_beside_products(g)) {
    const auto grads = linear_backward_weight(g, c.in(arg::x));
    c.set(arg::weight, grads.gweight);
    c.set(arg::bias, grads.gbias);
    return;
  }
  if (c.needs(arg::weight)) {
    const Tensor x = c.in(arg::x);
    const bool vector = x.ndim() == 1;
    const Tensor left = vector ? unsqueeze(g, 0) : rows(g),
                 right = vector ? unsqueeze(x, 0) : rows(x);
    c.set(arg::weight, matmul(transpose(left, 0, 1), conj_of(right)));
  }
  if (c.needs(arg::bias)) c.set(arg::bias, g.ndim() == 1 ? g : sum(rows(g), 0));
}

// x·weightᵀ + bias, then the activation
TN_DECOMPOSE(linear) {
  Tensor y = matmul(in.tensor(arg::x), transpose(in.tensor(arg::weight), 0, 1));
  if (in.has(arg::bias)) y = y + in.tensor(arg::bias);
  const std::string_view activation = in.str(arg::activation);
  out[0] = activation == "none"        ? y
           : activation == "relu"      ? relu(y)
           : activation == "gelu"      ? gelu(y)
           : activation == "gelu_tanh" ? gelu(y, "tanh")
           : activation == "silu"      ? silu(y)
           : activation == "sigmoid"   ? sigmoid(y)
                                       : tanh(y);
}

TN_OP(linear_backward_weight) = {
    .schema = "(Tensor g, Tensor x) -> Tensor gweight, Tensor gbias",
    .gives = "The gradients of linear's weight and bias.",
    .example = "tenon.linear_backward_weight(t([[1.], [2.]]), t([[3., 4.], [5., 6.]])).gweight",
    .rule = &rule::linear_backward_weight,
    .through = true,
    .decompose = &decomposition::linear_backward_weight,
};

TN_RULE(linear_backward_weight, linear_backward_weight,
        {.dtypes = "floating, promoted",
         .shapes = "g (…, out), x (…, in) give gweight (out, in) and gbias (out)"}) {
  const tn_tensor& g = operand(frame, arg::g, TN_MASK_FLOAT, "a floating-point dtype");
  const tn_tensor& x = operand(frame, arg::x, TN_MASK_FLOAT, "a floating-point dtype");
  const auto of_g = g.sizes(), of_x = x.sizes();
  const bool fits = !of_g.empty() && of_g.size() == of_x.size() &&
                    same_shape(of_g.first(of_g.size() - 1), of_x.first(of_x.size() - 1));
  frame.require(fits, "g of shape {} and x of shape {} are not (…, out) and (…, in)",
                format_shape(of_g), format_shape(of_x));
  const tn_dtype dtype = promote(g.dtype(), x.dtype());
  frame.cast_all(dtype);
  frame.result(arg::result::gweight, dtype, Dims{{{of_g.back(), of_x.back()}}});
  frame.result(arg::result::gbias, dtype, of_g.last(1));
}

// gᵀ·x and Σ g over all rows
TN_DECOMPOSE(linear_backward_weight) {
  const auto matrix = [](const Tensor& x) { return x.ndim() == 1 ? unsqueeze(x, 0) : rows(x); };
  const Tensor g = matrix(in.tensor(arg::g));
  out[arg::result::gweight] = matmul(transpose(g, 0, 1), matrix(in.tensor(arg::x)));
  out[arg::result::gbias] = sum(g, 0);
}
