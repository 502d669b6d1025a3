// Weights in four bits. A row (the last dimension) consists of groups; each has a scale, and its entries are integers from -7 to 7 times that.
// Two of them lie in a byte, plus 8: entry 2i in the low half, 2i + 1 in the high one.
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace tenon::core {
namespace {

constexpr int64_t kLargest = 7, kBias = 8,
                  kHalf = 4;  // of an entry; what is added to it; bits of one

// A shape with another last dimension, or two in its place.
Dims with_last(std::span<const int64_t> shape, int64_t last) {
  Dims made(shape);
  made[shape.size() - 1] = last;
  return made;
}
Dims with_last(std::span<const int64_t> shape, int64_t rows, int64_t columns) {
  Dims made = with_last(shape, rows);
  made.push(columns);
  return made;
}

Tensor with_shape(const Tensor& x, const Dims& shape) {
  return reshape(x, std::span<const int64_t>(shape));
}

// Packed entries and scales that belong together; the shape of what they stand for.
Dims unpacked(const Frame& frame, uint32_t packed_arg, uint32_t scale_arg) {
  const tn_tensor& packed = operand(frame, packed_arg, TN_MASK(TN_DTYPE_U8), "u8");
  const tn_tensor& scale = operand(frame, scale_arg, TN_MASK_FLOAT, "a floating dtype");
  const uint32_t rank = packed.ndim();
  const bool alike = rank != 0 && scale.ndim() == rank &&
                     same_shape(packed.sizes().first(rank - 1), scale.sizes().first(rank - 1));
  const int64_t groups = alike ? scale.shape()[rank - 1] : 0;
  frame.require(alike && groups != 0 && packed.shape()[rank - 1] % groups == 0,
                "scales {} do not divide the rows of {} packed bytes into groups",
                format_shape(scale.sizes()), format_shape(packed.sizes()));
  return with_last(packed.sizes(), 2 * packed.shape()[rank - 1]);
}

}  // namespace
}  // namespace tenon::core

TN_OP(quantize_int4) = {
    .schema = "(Tensor w, int group=32) -> Tensor packed, Tensor scale",
    .gives =
        "w in four bits: for each group of entries along the last dimension a scale, max|w|/7, and "
        "w/scale rounded, two in "
        "a byte.",
    .example = "tenon.quantize_int4(t([[7., -7., 0., 3.]]), 4).packed",
    .rule = &rule::quantize_int4,
    .decompose = &decomposition::quantize_int4,
};

TN_RULE(quantize_int4, quantize_int4,
        {.dtypes = "floating; packed is u8, scale has w's",
         .shapes = "w (…, n) gives packed (…, n/2) and scale (…, n/group)"}) {
  const tn_tensor& w = operand(frame, arg::w, TN_MASK_FLOAT, "a floating dtype");
  const int64_t group = frame.integer(arg::group);
  frame.require(group > 0 && group % 2 == 0, "group must be even and positive, got {}", group);
  frame.require(w.ndim() != 0 && w.shape()[w.ndim() - 1] % group == 0,
                "the last dimension of {} does not consist of groups of {}",
                format_shape(w.sizes()), group);
  const int64_t n = w.shape()[w.ndim() - 1];
  frame.result(arg::result::packed, TN_DTYPE_U8, with_last(w.sizes(), n / 2));
  frame.result(arg::result::scale, w.dtype(), with_last(w.sizes(), n / group));
}

// a group of zeros has the scale 0, by which nothing is divided
TN_DECOMPOSE(quantize_int4) {
  const Tensor w = in.tensor(arg::w);
  const int64_t n = w.shape(-1), group = in.integer(arg::group);
  const Tensor rows = with_shape(w, with_last(w.shape(), n / group, group));
  const Tensor scale = max(abs(rows), {-1}, true) / static_cast<double>(kLargest);
  const Tensor entries = round(rows / where(equal(scale, 0), 1, scale));
  const Tensor pairs = with_shape(cast(clamp(entries, -kLargest, kLargest) + kBias, DType::U8),
                                  with_last(w.shape(), n / 2, 2));
  out[arg::result::packed] =
      bitwise_or(select(pairs, -1, 0), bitwise_left_shift(select(pairs, -1, 1), kHalf));
  out[arg::result::scale] = with_shape(scale, with_last(w.shape(), n / group));
}

TN_OP(dequantize_int4) = {
    .schema = "(Tensor packed, Tensor scale) -> Tensor",
    .gives = "What quantize_int4 packed, in the dtype of scale.",
    .example = "tenon.dequantize_int4(t([[31, 184]]).to('uint8'), t([[1.]]))",
    .rule = &rule::dequantize_int4,
    .through = true,
    .decompose = &decomposition::dequantize_int4,
};

TN_RULE(dequantize_int4, dequantize_int4,
        {.dtypes = "packed u8, scale floating; the result has scale's",
         .shapes = "packed (…, n/2) and scale (…, groups) give (…, n)"}) {
  const Dims shape = unpacked(frame, arg::packed, arg::scale);
  frame.result(0, frame.tensor(arg::scale).dtype(), shape);
}

// (entry − 8)·scale of its group
TN_DECOMPOSE(dequantize_int4) {
  const Tensor packed = in.tensor(arg::packed), scale = in.tensor(arg::scale);
  const int64_t n = 2 * packed.shape(-1), groups = scale.shape(-1);
  const Tensor pairs = stack({bitwise_and(packed, 15), bitwise_right_shift(packed, kHalf)}, -1);
  const Tensor entries =
      cast(with_shape(pairs, with_last(packed.shape(), groups, n / groups)), scale.dtype()) - kBias;
  out[0] = with_shape(entries * unsqueeze(scale, -1), with_last(packed.shape(), n));
}

TN_OP(linear_int4) = {
    .schema = "(Tensor x, Tensor packed, Tensor scale, Tensor? bias=none) -> Tensor",
    .gives = "linear with a weight that quantize_int4 packed.",
    .example = "tenon.linear_int4(t([[1., 2.]]), t([[31]]).to('uint8'), t([[1.]]))",
    .rule = &rule::linear_int4,
    .through = true,
    .decompose = &decomposition::linear_int4,
};

TN_RULE(linear_int4, linear_int4,
        {.dtypes = "packed u8, x, scale and bias floating and promoted",
         .shapes = "x (…, n), packed (out, n/2), scale (out, groups), bias (out) give (…, out)"}) {
  const tn_tensor& x = operand(frame, arg::x, TN_MASK_FLOAT, "a floating dtype");
  require_rank(frame, arg::packed, 2, 2);
  const Dims weight = unpacked(frame, arg::packed, arg::scale);
  frame.require(x.ndim() != 0 && x.shape()[x.ndim() - 1] == weight[1],
                "x {} does not fit a weight of shape {}", format_shape(x.sizes()),
                format_shape(weight));
  tn_dtype dtype = promote(x.dtype(), frame.tensor(arg::scale).dtype());
  if (frame.has(arg::bias)) {
    const tn_tensor& bias = operand(frame, arg::bias, TN_MASK_FLOAT, "a floating dtype");
    frame.require(bias.ndim() == 1 && bias.shape()[0] == weight[0],
                  "bias {} does not fit {} outputs", format_shape(bias.sizes()), weight[0]);
    dtype = promote(dtype, bias.dtype());
    frame.cast(arg::bias, dtype);
  }
  frame.cast(arg::x, dtype);
  frame.cast(arg::scale, dtype);
  frame.result(0, dtype, with_last(x.sizes(), weight[0]));
}

TN_DECOMPOSE(linear_int4) {
  out[0] = linear(in.tensor(arg::x), dequantize_int4(in.tensor(arg::packed), in.tensor(arg::scale)),
                  in.tensor(arg::bias));
}
