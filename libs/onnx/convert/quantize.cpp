// Quantised integers: (q - zero point) · scale.
#include <algorithm>

#include "convert/layers.hpp"
#include "convert/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {

using Ints = std::vector<int64_t>;

Tensor spread(const Tensor& given, const Tensor& x, int64_t axis, int64_t block) {
  if (given.numel() == 1 && block == 0) return given.reshape({});
  if (given.ndim() == 1 && block == 0) {
    Ints sizes(static_cast<size_t>(x.ndim()), 1);
    sizes[static_cast<size_t>(wrap(axis, x.ndim()))] = given.numel();
    return given.reshape(sizes);
  }
  const int64_t along = wrap(axis, x.ndim());
  Ints sizes = shape_of(given);
  sizes.insert(sizes.begin() + along + 1, block);
  Tensor repeated = given.unsqueeze(along + 1).expand(sizes);
  sizes = shape_of(given);
  sizes[static_cast<size_t>(along)] *= block;
  return repeated.reshape(sizes).narrow(along, 0, x.shape(along));
}

namespace {

struct Limits {
  double low, high;
};
Limits limits_of(DType dtype) {
  if (!is_integral(dtype))
    throw Error(TN_UNIMPLEMENTED,
                "quantization to " + std::string(name_of(dtype)) + " is not supported");
  const double top = static_cast<double>(
      uint64_t{1} << std::min<uint64_t>(size_of(dtype) * 8 - (is_signed(dtype) ? 1 : 0), 62));
  return {is_signed(dtype) ? -top : 0, top - 1};
}

}  // namespace

Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype,
                 bool zero_first) {
  const Limits limits = limits_of(dtype);
  Tensor y = x / scale;
  if (!zero_first) y = round(y);
  if (zero.defined()) y = y + zero.to(y.dtype());
  if (zero_first) y = round(y);
  return clamp(y, limits.low, limits.high).to(dtype);
}

Tensor through_integers(const Tensor& x) {
  const Tensor low = minimum(x.min(), 0.0), scale = (maximum(x.max(), 0.0) - low) / 255.0;
  const Tensor step = where(equal(scale, 0), 1.0, scale);
  const Tensor zero = clamp(round(-low / step), 0.0, 255.0);
  return (clamp(round(x / step) + zero, 0.0, 255.0) - zero) * step;
}

Tensor centred(const Tensor& x, const Tensor& zero, bool rows) {
  Tensor wide = x.to(DType::F32);
  if (!zero.defined()) return wide;
  const Tensor z = zero.to(DType::F32);
  if (z.numel() == 1) return wide - z.reshape({});
  return wide - (rows && z.ndim() == 1 ? z.unsqueeze(1) : z);
}

int64_t largest(const Tensor& x, const Tensor& zero) {
  return x.dtype() == DType::I8 && !zero.defined() ? 128 : 255;
}

// f32 sums are exact up to 2²⁴, so this many terms are added at a time.
Tensor integer_product(const Tensor& a, const Tensor& b, int64_t bound) {
  const int64_t terms = a.shape(-1), step = (int64_t{1} << 24) / bound;
  if (terms <= step || a.ndim() < 2 || b.ndim() < 2)
    return terms <= step ? matmul(a, b).to(DType::I32)
                         : matmul(a.to(DType::F64), b.to(DType::F64)).to(DType::I32);
  Tensor sum;
  for (int64_t at = 0; at < terms; at += step) {
    const int64_t count = std::min(step, terms - at);
    const Tensor part = matmul(a.narrow(-1, at, count), b.narrow(-2, at, count)).to(DType::I32);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

IntegerWeight integer_weight(const Tensor& b, const Tensor& zero) {
  const int64_t shift = b.dtype() == DType::U8 ? 128 : 0;  // shifts u8 into the range of i8
  const Tensor wide = b.to(DType::I32) - shift;
  IntegerWeight made{wide.to(DType::I8).t().contiguous(), {}, -shift, {}};
  Tensor centred = wide + shift;
  if (zero.defined()) {
    made.zero = zero.to(DType::I32).reshape(zero.numel() == 1 ? Ints{} : Ints{-1});
    centred = centred - made.zero;
  }
  made.sums = centred.sum({0}).to(DType::I32);
  if (made.zero.defined() && !traced(made.zero) &&
      abs(made.zero + made.shift).max().item<int64_t>() == 0)
    made.zero = {}, made.shift = 0;
  return made;
}

Tensor integer_product(const Tensor& a, const Tensor& a_zero, const IntegerWeight& b) {
  Tensor y = linear_integer(a, b.rows);
  if (b.zero.defined() || b.shift != 0) {
    const Tensor rows = a.to(DType::I32).sum({-1}, true).to(DType::I32);
    y = y - (b.zero.defined() ? rows * (b.zero + b.shift) : rows * b.shift);
  }
  if (!a_zero.defined()) return y;
  const Tensor z = a_zero.to(DType::I32);
  return y - (z.numel() == 1 ? z.reshape({}) : z.ndim() == 1 ? z.unsqueeze(1) : z) * b.sums;
}

Quantized by_own_range(const Tensor& x) {
  const Tensor low = minimum(x.min(), 0.0), high = maximum(x.max(), 0.0);
  const Tensor scale = (high - low) / 255.0;
  const Tensor step = where(equal(scale, 0), 1.0, scale);
  const Tensor zero = clamp(round(-low / step), 0.0, 255.0).to(DType::U8);
  return {quantized(x, step, zero, DType::U8), scale, zero};
}

Tensor scaled_product(const Quantized& a, const IntegerWeight& b, const Tensor& b_scale) {
  const Tensor scale = a.scale * (b_scale.numel() == 1 ? b_scale.reshape({}) : b_scale);
  return integer_product(a.entries, a.zero, b).to(DType::F32) * scale;
}

namespace {

Tensor quantize(const Call& call) {
  const Tensor x = call.x(0), given = call.x(1);
  const int64_t axis = call.i("axis", 1), block = call.i("block_size", 0);
  DType dtype = call.dtype("output_dtype", DType::U8);
  const AttributeProto* wanted = call.find("output_dtype");
  if ((wanted == nullptr || wanted->i == 0) && call.has(2)) dtype = call.x(2).dtype();
  const Tensor scale = spread(given, x, axis, block);
  const Tensor zero = call.has(2) ? spread(call.x(2), x, axis, block) : Tensor();
  const DType precision = x.dtype() == DType::I32 ? given.dtype() : x.dtype();
  return quantized(x.to(precision), scale.to(precision), zero, dtype);
}

Tensor dequantize(const Call& call) {
  const Tensor x = call.x(0), given = call.x(1);
  const int64_t axis = call.i("axis", 1), block = call.i("block_size", 0);
  const DType dtype = call.dtype("output_dtype", given.dtype());
  Tensor y = x.to(DType::F32);
  if (call.has(2)) y = y - spread(call.x(2), x, axis, block).to(DType::F32);
  return (y * spread(given, x, axis, block).to(DType::F32)).to(dtype);
}

Results dynamic_quantize(const Call& call) {
  const auto [entries, scale, zero] = by_own_range(call.x(0));
  return {entries, scale, zero};
}

// Moves dimension `from` to `to`.
Tensor moved(const Tensor& x, int64_t from, int64_t to) {
  Ints order;
  for (int64_t d = 0; d < x.ndim(); ++d)
    if (d != from) order.push_back(d);
  order.insert(order.begin() + to, from);
  return x.permute(order);
}

// Reads operands a and b with their zero points from these inputs.
Tensor product_of(const Call& call, size_t a, size_t a_zero, size_t b, size_t b_zero) {
  if (call.constant({b, b_zero}) && call.x(b).ndim() == 2) {
    const auto weight =
        call.kept(true, [&] { return integer_weight(call.x(b), call.maybe(b_zero)); });
    return integer_product(call.x(a), call.maybe(a_zero), *weight);
  }
  const auto weight = call.kept(call.constant({b, b_zero}),
                                [&] { return centred(call.x(b), call.maybe(b_zero), false); });
  const int64_t bound =
      largest(call.x(a), call.maybe(a_zero)) * largest(call.x(b), call.maybe(b_zero));
  return integer_product(centred(call.x(a), call.maybe(a_zero), true), *weight, bound);
}

Tensor matmul_integer(const Call& call) { return product_of(call, 0, 2, 1, 3); }

Tensor along_rows(const Tensor& of) {
  return of.ndim() == 1 && of.numel() > 1 ? of.unsqueeze(1) : of.numel() == 1 ? of.reshape({}) : of;
}

}  // namespace

Tensor q_linear_matmul(const Call& call) {
  const Tensor product = product_of(call, 0, 2, 3, 5);
  const Tensor scale = along_rows(call.x(1)).to(DType::F32) *
                       (call.x(4).numel() == 1 ? call.x(4).reshape({}) : call.x(4)).to(DType::F32);
  return quantized(product.to(DType::F32) * scale, along_rows(call.x(6)).to(DType::F32),
                   along_rows(call.x(7)), call.x(7).dtype());
}

namespace {

// One number for all, or one for each entry along dimension `at` of that rank.
Tensor along(const Tensor& of, int64_t rank, int64_t at) {
  if (of.numel() == 1) return of.reshape({});
  Ints sizes(static_cast<size_t>(rank), 1);
  sizes[static_cast<size_t>(at)] = of.numel();
  return of.reshape(sizes);
}

// Which inputs of a convolution of integers are what; x is the first. Zero points may be left out.
struct Integers {
  size_t x_zero, weight, weight_zero;
};

// Whether the node has windows of two dimensions and a weight that is the same in each run. The sums are then products of two matrices of
// moderate size.
bool by_rows(const Call& call, const Integers& at) {
  constexpr int64_t kMostBytes = int64_t{1} << 28;
  const Tensor x = call.x(0), weight = call.x(at.weight);
  return x.ndim() == 4 && weight.ndim() == 4 && call.i("group", 1) == 1 &&
         call.constant({at.weight, at.weight_zero}) &&
         x.numel() * weight.shape(2) * weight.shape(3) <= kMostBytes;
}

// Sums of (x - zero)·(weight - zero), (N, windows, windows, out).
Tensor sums_by_rows(const Call& call, const Tensor& x, const Integers& at) {
  const Tensor given = call.x(at.weight);
  const auto weight = call.kept(
      true,
      [&] {
        const int64_t terms = given.numel() / given.shape(0);
        return integer_weight(given.permute({2, 3, 1, 0}).reshape({terms, -1}),
                              call.maybe(at.weight_zero));
      },
      1);
  const Tensor rows = window_rows(call, x, {given.shape(2), given.shape(3)}, at.x_zero);
  return integer_product(rows, call.maybe(at.x_zero), *weight);
}

// The same with channels in dimension 1.
Tensor sums_by_images(const Call& call, const Tensor& given, const Integers& at) {
  const Tensor w = call.x(at.weight), zero = call.maybe(at.weight_zero);
  const auto weight = call.kept(call.constant({at.weight, at.weight_zero}), [&] {
    const Tensor wide = w.to(DType::F32);
    return zero.defined() ? wide - along(zero.to(DType::F32), w.ndim(), 0) : wide;
  });
  const Tensor x_zero = call.maybe(at.x_zero);
  const int64_t bound = largest(call.x(0), x_zero) * largest(w, zero);
  return integer_convolution(call, centred(given, x_zero, true), *weight, bound);
}

// A convolution of 8-bit integers minus their zero points: one of x, one for each output channel of the weight.
Tensor conv_integer(const Call& call) {
  const Integers at{2, 1, 3};
  return by_rows(call, at) ? moved(sums_by_rows(call, call.x(0), at), 3, 1)
                           : sums_by_images(call, call.x(0), at);
}

}  // namespace

Tensor q_linear_conv(const Call& call) {
  // In the domain com.microsoft, channels may come last.
  const Integers at{2, 3, 5};
  const bool last = call.flag("channels_last"), rows = by_rows(call, at);
  const Tensor given = call.x(0), x = last ? moved(given, given.ndim() - 1, 1) : given;
  Tensor y = rows ? sums_by_rows(call, x, at) : sums_by_images(call, x, at);
  const int64_t channels = rows ? y.ndim() - 1 : 1;
  if (call.has(8)) y = y + along(call.x(8), y.ndim(), channels);
  const Tensor scale = call.x(1).reshape({}) * along(call.x(4), y.ndim(), channels);
  const Tensor made = quantized(y.to(DType::F32) * scale.to(DType::F32), call.x(6).reshape({}),
                                call.x(7).reshape({}), call.x(7).dtype());
  return last == rows ? made : moved(made, channels, last ? y.ndim() - 1 : 1);
}

Family quantize_ops() {
  static const Entry ops[] = {
      {"QuantizeLinear", 10, quantize},
      {"QuantizeLinear", 1, quantize, kMicrosoft},
      {"DequantizeLinear", 1, dequantize, kMicrosoft},
      {"QLinearConv", 1, q_linear_conv, kMicrosoft},
      {"DequantizeLinear", 10, dequantize},
      {"ConvInteger", 10, conv_integer},
      {"DynamicQuantizeLinear", 11, dynamic_quantize},
      {"MatMulInteger", 10, matmul_integer},
      {"QLinearMatMul", 10, q_linear_matmul},
      {"QLinearConv", 10, q_linear_conv},
  };
  return ops;
}

}  // namespace tenon::onnx
