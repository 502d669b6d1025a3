// Integers that stand for real numbers: (q - zero point) · scale.
#include <algorithm>

#include "convert/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {

Tensor quantized_convolution(const Call& call, const Tensor& x, const Tensor& weight,
                             const Tensor& bias);

namespace {

using Ints = std::vector<int64_t>;

// A scale or zero point in a shape that broadcasts against x: of all, of each entry along an axis, or of blocks of entries.
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

Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype) {
  const Limits limits = limits_of(dtype);
  Tensor y = round(x / scale);
  if (zero.defined()) y = y + zero.to(y.dtype());
  return clamp(y, limits.low, limits.high).to(dtype);
}

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

// To U8, by the range that x has, 0 included.
Results dynamic_quantize(const Call& call) {
  const Tensor x = call.x(0);
  const Tensor low = minimum(x.min(), 0.0), high = maximum(x.max(), 0.0);
  const Tensor scale = (high - low) / 255.0;
  const Tensor zero = clamp(round(-low / scale), 0.0, 255.0).to(DType::U8);
  return {quantized(x, scale, zero, DType::U8), scale, zero};
}

// x less its zero point; one of each row or column, as `rows` says, where it has several.
Tensor centred(const Tensor& x, const Tensor& zero, bool rows) {
  const Tensor wide = x.to(DType::F64);
  if (!zero.defined()) return wide;
  const Tensor z = zero.to(DType::F64);
  if (z.ndim() != 1 || z.numel() == 1) return wide - (z.numel() == 1 ? z.reshape({}) : z);
  return wide - (rows ? z.unsqueeze(1) : z);
}

Tensor matmul_integer(const Call& call) {
  return matmul(centred(call.x(0), call.maybe(2), true), centred(call.x(1), call.maybe(3), false))
      .to(DType::I32);
}

Tensor along_rows(const Tensor& of) {
  return of.ndim() == 1 && of.numel() > 1 ? of.unsqueeze(1) : of.numel() == 1 ? of.reshape({}) : of;
}

Tensor q_linear_matmul(const Call& call) {
  const Tensor product =
      matmul(centred(call.x(0), call.x(2), true), centred(call.x(3), call.x(5), false));
  const auto wide = [](const Tensor& of) { return of.to(DType::F64); };
  const Tensor scale = wide(along_rows(call.x(1))) *
                       wide(call.x(4).numel() == 1 ? call.x(4).reshape({}) : call.x(4));
  return quantized(product * scale, wide(along_rows(call.x(6))), along_rows(call.x(7)),
                   call.x(7).dtype());
}

Tensor q_linear_conv(const Call& call) {
  const Tensor weight = call.x(3);
  const auto wide = [](const Tensor& of) { return of.to(DType::F64); };
  const auto each = [&](const Tensor& of, int64_t rank, size_t at) {
    if (of.numel() == 1) return wide(of).reshape({});
    Ints sizes(static_cast<size_t>(rank), 1);
    sizes[at] = of.numel();
    return wide(of).reshape(sizes);
  };
  const Tensor x = wide(call.x(0)) - wide(call.x(2)).reshape({});
  const Tensor w = wide(weight) - each(call.x(5), weight.ndim(), 0);
  const Tensor bias = call.has(8) ? wide(call.x(8)) : Tensor();
  const Tensor y = quantized_convolution(call, x, w, bias);
  const Tensor scale = wide(call.x(1)).reshape({}) * each(call.x(4), y.ndim(), 1);
  return quantized(y * scale, wide(call.x(6)).reshape({}), call.x(7).reshape({}),
                   call.x(7).dtype());
}

}  // namespace

Family quantize_ops() {
  static const Entry ops[] = {
      {"QuantizeLinear", 10, quantize},
      {"DequantizeLinear", 10, dequantize},
      {"DynamicQuantizeLinear", 11, dynamic_quantize},
      {"MatMulInteger", 10, matmul_integer},
      {"QLinearMatMul", 10, q_linear_matmul},
      {"QLinearConv", 10, q_linear_conv},
  };
  return ops;
}

}  // namespace tenon::onnx
