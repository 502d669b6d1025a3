// Elementwise, three operands.
#include "ops/gradients.hpp"
#include "ops/number.hpp"
#include "ops/record.hpp"

namespace {

// The common dtype of x, y and z, which must not be bool. With a factor integers become f32.
tn_dtype common_of_three(const Frame& frame) {
  using arg = tenon::arg::addcmul;
  operand(frame, arg::x, kNumbers, "a numeric dtype");
  const tn_dtype dtype = common_dtype(frame, std::array{arg::x, arg::y, arg::z});
  if (dtype == TN_DTYPE_BOOL) refuse(frame, dtype, "a numeric dtype");
  return frame.real(arg::value) == 1 ? dtype : fractional(dtype);
}

// x times a factor, which usually is 1.
Tensor scaled(const Tensor& x, double factor) { return factor == 1 ? x : x * factor; }

}  // namespace

TN_OP(lerp) = {
    .schema = "(Tensor x, Tensor y, Tensor weight) -> Tensor",
    .gives = "x + weight·(y - x).",
    .example = "tenon.lerp(t([0., 10.]), t([10., 20.]), 0.25)",
    .in_place = true,
    .rule = &rule::lerp,
    .gradient = &gradient::lerp,
    .decompose = &decomposition::lerp,
};

TN_RULE(lerp, lerp,
        {.dtypes = "numeric, promoted; integers give f32",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "y weight"}) {
  operand(frame, arg::x, kNumbers, "a numeric dtype");
  const tn_dtype dtype = common_dtype(frame, std::array{arg::x, arg::y, arg::weight});
  if (dtype == TN_DTYPE_BOOL) refuse(frame, dtype, "a numeric dtype");
  binary(frame, fractional(dtype));
}

// (1−w)·dx + w·dy + (y−x)·dw
TN_GRADIENT(lerp, {.if_needs = {in_(arg::weight), in_(arg::weight), in_(arg::x) | in_(arg::y)}}) {
  const Tensor g = c.grad();
  if (c.needs(arg::x) || c.needs(arg::y)) {
    const Tensor gy = mul(g, Value(c, arg::weight).conjugate());
    if (c.needs(arg::x)) c.set(arg::x, g - gy);
    if (c.needs(arg::y)) c.set(arg::y, gy);
  }
  if (c.needs(arg::weight))
    c.set(arg::weight, mul(g, conj_of(sub(Value(c, arg::y), Value(c, arg::x)))));
}

// x + weight·(y−x)
TN_DECOMPOSE(lerp) {
  const Tensor x = fraction(in.tensor(arg::x));
  out[0] = x + mul(sub(in.operand(arg::y), x), in.operand(arg::weight));
}

TN_OP(addcmul) = {
    .schema = "(Tensor x, Tensor y, Tensor z, float value=1.0) -> Tensor",
    .gives = "x + value·y·z.",
    .example = "tenon.addcmul(t([1., 2.]), t([3., 4.]), t([5., 6.]), 0.5)",
    .in_place = true,
    .rule = &rule::addcmul,
    .gradient = &gradient::addcmul,
    .decompose = &decomposition::addcmul,
};

TN_RULE(addcmul, addcmul,
        {.dtypes = "numeric, promoted; integers give f32 if value is not 1",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "y z"}) {
  binary(frame, common_of_three(frame));
}

// dx + v·z·dy + v·y·dz
TN_GRADIENT(addcmul, {.if_needs = {0, in_(arg::z), in_(arg::y)}}) {
  if (c.needs(arg::x)) c.set(arg::x, c.grad());
  if (c.needs(arg::y))
    c.set(arg::y, mul(scaled(c.grad(), c.real(arg::value)), Value(c, arg::z).conjugate()));
  if (c.needs(arg::z))
    c.set(arg::z, mul(scaled(c.grad(), c.real(arg::value)), Value(c, arg::y).conjugate()));
}

TN_DECOMPOSE(addcmul) {
  out[0] =
      in.tensor(arg::x) + scaled(mul(in.tensor(arg::y), in.operand(arg::z)), in.real(arg::value));
}

TN_OP(addcdiv) = {
    .schema = "(Tensor x, Tensor y, Tensor z, float value=1.0) -> Tensor",
    .gives = "x + value·y/z.",
    .example = "tenon.addcdiv(t([1., 2.]), t([3., 4.]), t([5., 8.]), 0.5)",
    .in_place = true,
    .rule = &rule::addcdiv,
    .gradient = &gradient::addcdiv,
    .decompose = &decomposition::addcdiv,
};

TN_RULE(addcdiv, addcdiv,
        {.dtypes = "numeric, promoted; integers give f32",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "y z"}) {
  binary(frame, fractional(common_of_three(frame)));
}

// dx + v/z·dy − v·y/z²·dz
TN_GRADIENT(addcdiv, {.if_needs = {0, in_(arg::z), in_(arg::y) | in_(arg::z)}}) {
  if (c.needs(arg::x)) c.set(arg::x, c.grad());
  if (!c.needs(arg::y) && !c.needs(arg::z)) return;
  const Value z = Value(c, arg::z).conjugate();
  const Tensor gy = div(scaled(c.grad(), c.real(arg::value)), z);
  if (c.needs(arg::y)) c.set(arg::y, gy);
  if (c.needs(arg::z)) c.set(arg::z, -gy * div(Value(c, arg::y).conjugate(), z));
}

TN_DECOMPOSE(addcdiv) {
  out[0] =
      in.tensor(arg::x) + scaled(div(in.tensor(arg::y), in.operand(arg::z)), in.real(arg::value));
}
