// Arithmetic, comparisons, logic and conversions, element by element.
#include <cmath>

#include "convert/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {
namespace {

using Unary = Tensor (*)(const Tensor&);
template <Unary kOp>
Results unary(const Call& call) {
  return kOp(call.x(0));
}
using Binary = Tensor (*)(Operand, Operand);
template <Binary kOp>
Results binary(const Call& call) {
  return kOp(call.x(0), call.x(1));
}
// Takes any number of inputs.
template <Binary kOp>
Results folded(const Call& call) {
  Tensor sum = call.x(0);
  for (size_t i = 1; i < call.size(); ++i) sum = kOp(sum, call.x(i));
  return sum;
}
template <Binary kOp>
Results negated(const Call& call) {
  return logical_not(kOp(call.x(0), call.x(1)));
}

// Integer division truncates, as in C.
Tensor divide(const Tensor& x, const Tensor& y) {
  if (!is_integral(x.dtype())) return x / y;
  const Tensor quotient = floor_divide(x, y);
  if (!is_signed(x.dtype())) return quotient;
  const Tensor inexact = not_equal(quotient * y, x), negative = not_equal(less(x, 0), less(y, 0));
  return quotient + logical_and(inexact, negative).to(x.dtype());
}

Tensor modulo(const Call& call) {
  const Tensor x = call.x(0), y = call.x(1);
  if (!call.flag("fmod")) return remainder(x, y);
  if (is_integral(x.dtype())) return x - divide(x, y) * y;
  return copysign(remainder(abs(x), abs(y)), x);
}

Tensor power(const Call& call) {
  const Tensor x = call.x(0), y = call.x(1);
  if (is_integral(x.dtype()) && is_integral(y.dtype())) return pow(x, y.to(x.dtype()));
  if (is_integral(x.dtype())) return pow(x.to(DType::F64), y.to(DType::F64)).to(x.dtype());
  return pow(x, y.to(x.dtype()));
}

Tensor shift(const Call& call) {
  const Tensor x = call.x(0), y = call.x(1);
  return call.s("direction", "") == "LEFT" ? x << y : x >> y;
}

Tensor mean_of(const Call& call) {
  Tensor sum = call.x(0);
  for (size_t i = 1; i < call.size(); ++i) sum = sum + call.x(i);
  return sum / static_cast<double>(call.size());
}

Tensor is_infinite(const Call& call) {
  const Tensor x = call.x(0);
  const bool positive = call.flag("detect_positive", true),
             negative = call.flag("detect_negative", true);
  if (positive && negative) return isinf(x);
  if (positive) return equal(x, INFINITY);
  return negative ? equal(x, -INFINITY) : not_equal(x, x) & equal(x, x);
}

// The bounds were attributes before opset 11.
Tensor clip(const Call& call) {
  Tensor x = call.x(0);
  if (call.opset() < 11) {
    if (call.find("min") != nullptr) x = maximum(x, call.f("min", 0));
    return call.find("max") != nullptr ? minimum(x, call.f("max", 0)) : x;
  }
  if (call.has(1)) x = maximum(x, call.x(1));
  return call.has(2) ? minimum(x, call.x(2)) : x;
}

// Floats go through 64-bit integers, so that large values wrap: -1.0 as UINT8 is 255.
Tensor converted(const Tensor& x, DType to) {
  if (is_floating(x.dtype()) && is_integral(to) && size_of(to) < 4) return x.to(DType::I64).to(to);
  return x.to(to);
}
Tensor cast_to(const Call& call) { return converted(call.x(0), call.dtype("to", DType::F32)); }

Tensor bit_cast(const Call& call) {
  const Tensor x = call.x(0).cpu().contiguous();
  const DType to = call.dtype("to", DType::F32);
  if (size_of(to) != size_of(x.dtype())) call.fail("types of different sizes");
  Tensor made = empty(x.shape(), to);
  x.to_host(tn_tensor_data(made.get()), x.nbytes());
  return made.to(call.device());
}

}  // namespace

Family elementwise_ops() {
  static const Entry ops[] = {
      {"Abs", 1, unary<abs>},
      {"Acos", 7, unary<acos>},
      {"Acosh", 9, unary<acosh>},
      {"Asin", 7, unary<asin>},
      {"Asinh", 9, unary<asinh>},
      {"Atan", 7, unary<atan>},
      {"Atanh", 9, unary<atanh>},
      {"Ceil", 1, unary<ceil>},
      {"Cos", 7, unary<cos>},
      {"Cosh", 9, unary<cosh>},
      {"Erf", 9, unary<erf>},
      {"Exp", 1, unary<exp>},
      {"Floor", 1, unary<floor>},
      {"Log", 1, unary<log>},
      {"Neg", 1, unary<neg>},
      {"Reciprocal", 1, unary<reciprocal>},
      {"Round", 11, unary<round>},
      {"Sign", 9, unary<sign>},
      {"Sin", 7, unary<sin>},
      {"Sinh", 9, unary<sinh>},
      {"Sqrt", 1, unary<sqrt>},
      {"Tan", 7, unary<tan>},
      {"Tanh", 1, unary<tanh>},
      {"Not", 1, unary<logical_not>},
      {"BitwiseNot", 18, unary<bitwise_not>},
      {"IsNaN", 9, unary<isnan>},
      {"IsInf", 10, is_infinite},
      {"Identity", 1, [](const Call& call) { return call.value(0); }},
      {"Add", 7, binary<add>},
      {"Sub", 7, binary<sub>},
      {"Mul", 7, binary<mul>},
      {"Div", 7, [](const Call& call) { return divide(call.x(0), call.x(1)); }},
      {"Mod", 10, modulo},
      {"Pow", 7, power},
      {"And", 7, binary<logical_and>},
      {"Or", 7, binary<logical_or>},
      {"Xor", 7, binary<logical_xor>},
      {"BitwiseAnd", 18, binary<bitwise_and>},
      {"BitwiseOr", 18, binary<bitwise_or>},
      {"BitwiseXor", 18, binary<bitwise_xor>},
      {"BitShift", 11, shift},
      {"Equal", 7, binary<equal>},
      {"Greater", 7, binary<greater>},
      {"GreaterOrEqual", 12, binary<greater_equal>},
      {"Less", 7, binary<less>},
      {"LessOrEqual", 12, binary<less_equal>},
      {"Max", 8, folded<maximum>},
      {"Min", 8, folded<minimum>},
      {"Sum", 8, folded<add>},
      {"Mean", 8, mean_of},
      {"Where", 9, [](const Call& call) { return where(call.x(0), call.x(1), call.x(2)); }},
      {"Clip", 6, clip},
      {"Cast", 6, cast_to},
      {"CastLike", 15, [](const Call& call) { return converted(call.x(0), call.x(1).dtype()); }},
      {"BitCast", 26, bit_cast},
  };
  return ops;
}

}  // namespace tenon::onnx
