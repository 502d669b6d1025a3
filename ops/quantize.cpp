// Weights in four and eight bits.
// A row (the last dimension) consists of groups. An eight-bit entry is an integer from -127 to 127 times its group's scale; a four-bit
// entry is one from 0 to 15 times the scale, plus the group's offset, its smallest entry. A byte holds two of those: entry 2i in the low
// half, 2i + 1 in the high half.
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace tenon::core {
namespace {

constexpr int64_t kHalf = 4;  // bits
constexpr double kMost4 = 15, kMost8 = 127, kMostU8 = 255;

// The shape with another last dimension, or with two instead of it.
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

// Checks packed entries, `in_place` in an element of `dtype`, against their scales, and returns the unpacked shape.
Dims unpacked(const Frame& frame, uint32_t packed_arg, uint32_t scale_arg, tn_dtype dtype,
              int64_t in_place) {
  const tn_tensor& packed =
      operand(frame, packed_arg, TN_MASK(dtype), dtype == TN_DTYPE_U8 ? "u8" : "i8");
  const tn_tensor& scale = operand(frame, scale_arg, TN_MASK_FLOAT, "a floating dtype");
  const uint32_t rank = packed.ndim();
  const bool alike = rank != 0 && scale.ndim() == rank &&
                     same_shape(packed.sizes().first(rank - 1), scale.sizes().first(rank - 1));
  const int64_t groups = alike ? scale.shape()[rank - 1] : 0;
  frame.require(alike && groups != 0 && packed.shape()[rank - 1] % groups == 0,
                "scales {} do not divide the rows of {} packed bytes into groups",
                format_shape(scale.sizes()), format_shape(packed.sizes()));
  return with_last(packed.sizes(), in_place * packed.shape()[rank - 1]);
}

Dims unpacked4(const Frame& frame, uint32_t packed, uint32_t scale, uint32_t offset) {
  const Dims shape = unpacked(frame, packed, scale, TN_DTYPE_U8, 2);
  const tn_tensor& offsets = operand(frame, offset, TN_MASK_FLOAT, "a floating dtype");
  frame.require(same_shape(offsets.sizes(), frame.tensor(scale).sizes()),
                "offsets {} do not fit scales {}", format_shape(offsets.sizes()),
                format_shape(frame.tensor(scale).sizes()));
  return shape;
}
Dims unpacked8(const Frame& frame, uint32_t packed, uint32_t scale) {
  return unpacked(frame, packed, scale, TN_DTYPE_I8, 1);
}

// The groups (…, n/group) of a weight to pack.
Dims groups_of(const Frame& frame, const tn_tensor& w, int64_t group, int64_t in_place) {
  frame.require(group > 0 && group % in_place == 0, "group must be {}positive, got {}",
                in_place == 1 ? "" : "even and ", group);
  const int64_t n = w.ndim() == 0 ? 0 : w.shape()[w.ndim() - 1];
  frame.require(n != 0 && n % group == 0,
                "the last dimension of {} does not consist of groups of {}",
                format_shape(w.sizes()), group);
  return with_last(w.sizes(), n / group);
}

// Rows of groups: (…, n) to (…, groups, group).
Tensor grouped(const Tensor& x, int64_t groups) {
  return with_shape(x, with_last(x.shape(), groups, x.shape(-1) / groups));
}
// A group whose scale is 0 is divided by 1.
Tensor divisor(const Tensor& scale) { return where(equal(scale, 0), 1, scale); }

// linear with x (…, n) and a weight of that shape; scales and offsets take part in promotion.
void product(Frame& frame, uint32_t x_arg, uint32_t bias_arg, const Dims& weight,
             std::initializer_list<uint32_t> of_groups) {
  const tn_tensor& x = operand(frame, x_arg, TN_MASK_FLOAT, "a floating dtype");
  frame.require(x.ndim() != 0 && x.shape()[x.ndim() - 1] == weight[1],
                "x {} does not fit a weight of shape {}", format_shape(x.sizes()),
                format_shape(weight));
  tn_dtype dtype = x.dtype();
  for (const uint32_t each : of_groups) dtype = promote(dtype, frame.tensor(each).dtype());
  if (frame.has(bias_arg)) {
    const tn_tensor& bias = operand(frame, bias_arg, TN_MASK_FLOAT, "a floating dtype");
    frame.require(bias.ndim() == 1 && bias.shape()[0] == weight[0],
                  "bias {} does not fit {} outputs", format_shape(bias.sizes()), weight[0]);
    dtype = promote(dtype, bias.dtype());
    frame.cast(bias_arg, dtype);
  }
  frame.cast(x_arg, dtype);
  for (const uint32_t each : of_groups) frame.cast(each, dtype);
  frame.result(0, dtype, with_last(x.sizes(), weight[0]));
}

}  // namespace
}  // namespace tenon::core

TN_OP(quantize_int4) = {
    .schema = "(Tensor w, int group=32) -> Tensor packed, Tensor scale, Tensor offset",
    .gives =
        "w in four bits: for each group of entries along the last dimension an offset, min w, a "
        "scale, (max w - min w)/15, and (w - offset)/scale, rounded and stored two to a byte.",
    .example = "tenon.quantize_int4(t([[0., 15., 1., 3.]]), 4).packed",
    .rule = &rule::quantize_int4,
    .decompose = &decomposition::quantize_int4,
};

TN_RULE(quantize_int4, quantize_int4,
        {.dtypes = "floating; packed is u8, scale and offset have w's",
         .shapes = "w (…, n) gives packed (…, n/2), scale and offset (…, n/group)"}) {
  const tn_tensor& w = operand(frame, arg::w, TN_MASK_FLOAT, "a floating dtype");
  const Dims groups = groups_of(frame, w, frame.integer(arg::group), 2);
  frame.result(arg::result::packed, TN_DTYPE_U8, with_last(w.sizes(), w.shape()[w.ndim() - 1] / 2));
  frame.result(arg::result::scale, w.dtype(), groups);
  frame.result(arg::result::offset, w.dtype(), groups);
}

TN_DECOMPOSE(quantize_int4) {
  const Tensor w = in.tensor(arg::w);
  const int64_t n = w.shape(-1), groups = n / in.integer(arg::group);
  const Tensor rows = grouped(w, groups);
  const Tensor offset = min(rows, {-1}, true);
  const Tensor scale = (max(rows, {-1}, true) - offset) / kMost4;
  const Tensor entries = clamp(round((rows - offset) / divisor(scale)), 0, kMost4);
  const Tensor pairs = with_shape(cast(entries, DType::U8), with_last(w.shape(), n / 2, 2));
  out[arg::result::packed] =
      bitwise_or(select(pairs, -1, 0), bitwise_left_shift(select(pairs, -1, 1), kHalf));
  out[arg::result::scale] = with_shape(scale, with_last(w.shape(), groups));
  out[arg::result::offset] = with_shape(offset, with_last(w.shape(), groups));
}

TN_OP(dequantize_int4) = {
    .schema = "(Tensor packed, Tensor scale, Tensor offset) -> Tensor",
    .gives = "The weight that quantize_int4 packed, in the dtype of scale and offset.",
    .example = "tenon.dequantize_int4(t([[31, 180]]).to('uint8'), t([[2.]]), t([[1.]]))",
    .rule = &rule::dequantize_int4,
    .through = true,
    .decompose = &decomposition::dequantize_int4,
};

TN_RULE(dequantize_int4, dequantize_int4,
        {.dtypes = "packed u8, scale and offset floating and promoted",
         .shapes = "packed (…, n/2), scale and offset (…, groups) give (…, n)"}) {
  const Dims shape = unpacked4(frame, arg::packed, arg::scale, arg::offset);
  const tn_dtype dtype =
      promote(frame.tensor(arg::scale).dtype(), frame.tensor(arg::offset).dtype());
  frame.cast(arg::scale, dtype);
  frame.cast(arg::offset, dtype);
  frame.result(0, dtype, shape);
}

TN_DECOMPOSE(dequantize_int4) {
  const Tensor packed = in.tensor(arg::packed), scale = in.tensor(arg::scale);
  const Tensor pairs = stack({bitwise_and(packed, 15), bitwise_right_shift(packed, kHalf)}, -1);
  const Dims shape = with_last(packed.shape(), 2 * packed.shape(-1));
  const Tensor entries = cast(grouped(with_shape(pairs, shape), scale.shape(-1)), scale.dtype());
  out[0] =
      with_shape(entries * unsqueeze(scale, -1) + unsqueeze(in.tensor(arg::offset), -1), shape);
}

TN_OP(linear_int4) = {
    .schema = "(Tensor x, Tensor packed, Tensor scale, Tensor offset, Tensor? bias=none) -> Tensor",
    .gives = "linear with a weight that quantize_int4 packed.",
    .example = "tenon.linear_int4(t([[1., 2.]]), t([[31]]).to('uint8'), t([[2.]]), t([[1.]]))",
    .rule = &rule::linear_int4,
    .through = true,
    .decompose = &decomposition::linear_int4,
};

TN_RULE(linear_int4, linear_int4,
        {.dtypes = "packed u8, x, scale, offset and bias floating and promoted",
         .shapes = "x (…, n), packed (out, n/2), scale and offset (out, groups), bias (out) give "
                   "(…, out)"}) {
  require_rank(frame, arg::packed, 2, 2);
  const Dims weight = unpacked4(frame, arg::packed, arg::scale, arg::offset);
  product(frame, arg::x, arg::bias, weight, {arg::scale, arg::offset});
}

TN_DECOMPOSE(linear_int4) {
  const Tensor weight =
      dequantize_int4(in.tensor(arg::packed), in.tensor(arg::scale), in.tensor(arg::offset));
  out[0] = linear(in.tensor(arg::x), weight, in.tensor(arg::bias));
}

TN_OP(quantize_int8) = {
    .schema = "(Tensor w, int group=32) -> Tensor packed, Tensor scale",
    .gives =
        "w in eight bits: for each group of entries along the last dimension a scale, max|w|/127, "
        "and w/scale, rounded.",
    .example = "tenon.quantize_int8(t([[127., -127., 0., 3.]]), 4).packed",
    .rule = &rule::quantize_int8,
    .decompose = &decomposition::quantize_int8,
};

TN_RULE(quantize_int8, quantize_int8,
        {.dtypes = "floating; packed is i8, scale has w's",
         .shapes = "w (…, n) gives packed (…, n) and scale (…, n/group)"}) {
  const tn_tensor& w = operand(frame, arg::w, TN_MASK_FLOAT, "a floating dtype");
  const Dims groups = groups_of(frame, w, frame.integer(arg::group), 1);
  frame.result(arg::result::packed, TN_DTYPE_I8, w.sizes());
  frame.result(arg::result::scale, w.dtype(), groups);
}

TN_DECOMPOSE(quantize_int8) {
  const Tensor w = in.tensor(arg::w);
  const int64_t groups = w.shape(-1) / in.integer(arg::group);
  const Tensor rows = grouped(w, groups);
  const Tensor scale = max(abs(rows), {-1}, true) / kMost8;
  const Tensor entries = clamp(round(rows / divisor(scale)), -kMost8, kMost8);
  out[arg::result::packed] = reshape(cast(entries, DType::I8), w.shape());
  out[arg::result::scale] = with_shape(scale, with_last(w.shape(), groups));
}

TN_OP(dequantize_int8) = {
    .schema = "(Tensor packed, Tensor scale) -> Tensor",
    .gives = "The weight that quantize_int8 packed, in the dtype of scale.",
    .example = "tenon.dequantize_int8(t([[3, -4]]).to('int8'), t([[0.5]]))",
    .rule = &rule::dequantize_int8,
    .through = true,
    .decompose = &decomposition::dequantize_int8,
};

TN_RULE(dequantize_int8, dequantize_int8,
        {.dtypes = "packed i8, scale floating; the result has scale's",
         .shapes = "packed (…, n) and scale (…, groups) give (…, n)"}) {
  const Dims shape = unpacked8(frame, arg::packed, arg::scale);
  frame.result(0, frame.tensor(arg::scale).dtype(), shape);
}

TN_DECOMPOSE(dequantize_int8) {
  const Tensor packed = in.tensor(arg::packed), scale = in.tensor(arg::scale);
  const Tensor entries = cast(grouped(packed, scale.shape(-1)), scale.dtype());
  out[0] = reshape(entries * unsqueeze(scale, -1), packed.shape());
}

TN_OP(linear_int8) = {
    .schema = "(Tensor x, Tensor packed, Tensor scale, Tensor? bias=none) -> Tensor",
    .gives = "linear with a weight that quantize_int8 packed.",
    .example = "tenon.linear_int8(t([[1., 2.]]), t([[3, -4]]).to('int8'), t([[0.5]]))",
    .rule = &rule::linear_int8,
    .through = true,
    .decompose = &decomposition::linear_int8,
};

TN_RULE(linear_int8, linear_int8,
        {.dtypes = "packed i8, x, scale and bias floating and promoted",
         .shapes = "x (…, n), packed (out, n), scale (out, groups), bias (out) give (…, out)"}) {
  require_rank(frame, arg::packed, 2, 2);
  product(frame, arg::x, arg::bias, unpacked8(frame, arg::packed, arg::scale), {arg::scale});
}

TN_DECOMPOSE(linear_int8) {
  out[0] = linear(in.tensor(arg::x), dequantize_int8(in.tensor(arg::packed), in.tensor(arg::scale)),
                  in.tensor(arg::bias));
}

TN_OP(linear_w8a8) = {
    .schema =
        "(Tensor x, Tensor packed, Tensor scale, Tensor? bias=none, Tensor? x_range=none) -> "
        "Tensor",
    .gives =
        "linear with a weight that quantize_int8 packed with one group for each row, and with x in "
        "eight bits as well: integers from 0 to 255 represent the range from low to high, 0 "
        "included, of each row, or of all by x_range, (low, high). Sums of products are exact on "
        "processors that multiply such integers.",
    .example = "tenon.linear_w8a8(t([[1., 2.]]), t([[3, -4]]).to('int8'), t([[0.5]]))",
    .rule = &rule::linear_w8a8,
    .decompose = &decomposition::linear_w8a8,
};

TN_RULE(linear_w8a8, linear_w8a8,
        {.dtypes = "packed i8, x, scale, bias and x_range floating and promoted",
         .shapes = "x (…, n), packed (out, n), scale (out, 1), bias (out), x_range (2) give "
                   "(…, out)"}) {
  require_rank(frame, arg::packed, 2, 2);
  const Dims weight = unpacked8(frame, arg::packed, arg::scale);
  frame.require(frame.tensor(arg::scale).shape()[1] == 1,
                "the weight needs a scale for each row, (out, 1), got {}",
                format_shape(frame.tensor(arg::scale).sizes()));
  if (!frame.has(arg::x_range)) return product(frame, arg::x, arg::bias, weight, {arg::scale});
  const tn_tensor& range = operand(frame, arg::x_range, TN_MASK_FLOAT, "a floating dtype");
  frame.require(range.ndim() == 1 && range.shape()[0] == 2, "x_range must be (low, high), got {}",
                format_shape(range.sizes()));
  product(frame, arg::x, arg::bias, weight, {arg::scale, arg::x_range});
}

TN_DECOMPOSE(linear_w8a8) {
  const Tensor x = in.tensor(arg::x), packed = in.tensor(arg::packed);
  const Tensor scale = in.tensor(arg::scale), bias = in.tensor(arg::bias);
  const Tensor range = in.tensor(arg::x_range);
  if (x.dtype() == DType::F16 || x.dtype() == DType::BF16) {  // their sums would overflow or round
    const auto wide = [](const Tensor& of) { return of.defined() ? cast(of, DType::F32) : of; };
    out[0] = cast(linear_w8a8(wide(x), packed, wide(scale), wide(bias), wide(range)), x.dtype());
    return;
  }
  const bool given = range.defined();
  const Tensor low = minimum(given ? select(range, 0, 0) : min(x, {-1}, true), 0);
  const Tensor width = maximum(given ? select(range, 0, 1) : max(x, {-1}, true), 0) - low;
  const Tensor steps = kMostU8 / divisor(width);  // for each unit of x
  const Tensor zero = round(-low * steps);
  const Tensor entries = clamp(round(x * steps) + zero, 0, kMostU8) - zero;
  const Tensor sums =
      linear(entries, cast(packed, x.dtype())) * (width / kMostU8 * squeeze(scale, {-1}));
  out[0] = bias.defined() ? sums + bias : sums;
}

TN_OP(linear_integer) = {
    .schema = "(Tensor x, Tensor weight) -> Tensor",
    .gives = "x times the transpose of weight, for 8-bit integers; exact modulo 2^32.",
    .example = "tenon.linear_integer(t([[1, 200]]).to('uint8'), t([[3, -4]]).to('int8'))",
    .rule = &rule::linear_integer,
    .decompose = &decomposition::linear_integer,
};

TN_RULE(linear_integer, linear_integer,
        {.dtypes = "x u8 or i8, weight i8; i32 results",
         .shapes = "x (…, n) and weight (out, n) give (…, out)"}) {
  const tn_tensor& x =
      operand(frame, arg::x, TN_MASK(TN_DTYPE_U8) | TN_MASK(TN_DTYPE_I8), "u8 or i8");
  const tn_tensor& weight = operand(frame, arg::weight, TN_MASK(TN_DTYPE_I8), "i8");
  require_rank(frame, arg::weight, 2, 2);
  frame.require(x.ndim() != 0 && x.shape()[x.ndim() - 1] == weight.shape()[1],
                "x {} does not fit a weight of shape {}", format_shape(x.sizes()),
                format_shape(weight.sizes()));
  frame.result(0, TN_DTYPE_I32, with_last(x.sizes(), weight.shape()[0]));
}

// f32 sums integers up to 2^24 exactly, so each part has as many terms as stay below that.
TN_DECOMPOSE(linear_integer) {
  constexpr int64_t kTerms = (int64_t{1} << 24) / (255 * 128);
  const Tensor x = in.tensor(arg::x), weight = in.tensor(arg::weight);
  for (int64_t at = 0; at == 0 || at < x.shape(-1); at += kTerms) {
    const auto part = [&](const Tensor& of) {
      return cast(of.narrow(-1, at, std::min(kTerms, x.shape(-1) - at)), DType::F32);
    };
    const Tensor sum = cast(linear(part(x), part(weight)), DType::I32);
    out[0] = at == 0 ? sum : out[0] + sum;
  }
}
