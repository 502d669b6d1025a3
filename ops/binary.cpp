// Elementwise, two operands.
// In formulas x and y are the operands, z the result, g the gradient of the result.
#include "ops/gradients.hpp"
#include "ops/number.hpp"
#include "ops/record.hpp"

namespace {

// An integer to a negative power is no integer. The exponents of a tensor are known to the kernel only, which gives 0, or ±1 if the
// base is ±1.
void require_whole_power(const Frame& frame, tn_dtype dtype) {
  const tn_value& exponent = frame.arg(arg::pow::y);
  if (exponent.tag == TN_VALUE_INT && exponent.as.i < 0)
    frame.fail(TN_INVALID_ARGUMENT,
               "integers ({}) to the negative power {} are not integers: write {}.0, or cast to a "
               "floating dtype first",
               dtype_name(dtype), exponent.as.i, exponent.as.i);
}

// d(x^n) = n·x^(n−1)·dx for a number n
Tensor power_gradient(const Tensor& g, const Tensor& x, std::complex<double> n) {
  if (n == 1.0) return g;
  if (n == 2.0) return g * (conj_of(x) * 2);
  if (n.imag() == 0) return g * conj_of(pow(x, n.real() - 1) * n.real());
  const std::complex<double> lower = n - 1.0;
  return g * conj_of(mul(pow(x, lower), n));
}

// The larger (or smaller) operand takes the gradient; equal ones share it.
void share_extremum(GradCall& c, bool larger) {
  using arg = tenon::arg::maximum;
  const Value x(c, arg::x), y(c, arg::y);
  const Tensor g = c.grad(), shared = where(equal(x, y), g * 0.5, g);
  if (c.needs(arg::x)) c.set(arg::x, where(larger ? less(x, y) : greater(x, y), 0, shared));
  if (c.needs(arg::y)) c.set(arg::y, where(larger ? greater(x, y) : less(x, y), 0, shared));
}

}  // namespace

TN_OP(add) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x + y.",
    .example = "tenon.add(t([1., 2.]), t([[10.], [20.]]))",
    .in_place = true,
    .rule = &rule::binary_arith,
    .gradient = &gradient::add,
};

TN_RULE(
    binary_arith, add,
    {.dtypes =
         "promoted to a common dtype, which the result has; for bools `add` is or, `mul` is and",
     .shapes = "broadcast",
     .elementwise = true,
     .numbers = "all",
     .unchanged = TN_MASK_FLOAT}) {
  binary(frame, common_dtype(frame, arg::x, arg::y));
}

// d(x+y) = dx + dy
TN_GRADIENT(add, {}) {
  if (c.needs(arg::x)) c.set(arg::x, c.grad());
  if (c.needs(arg::y)) c.set(arg::y, c.grad());
}

TN_OP(sub) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x - y.",
    .example = "tenon.sub(t([1., 2.]), 1)",
    .linear = "x y",
    .in_place = true,
    .rule = &rule::sub,
    .gradient = &gradient::sub,
};

TN_RULE(sub, sub,
        {.dtypes = "promoted to a common dtype, which the result has; not bool",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all",
         .unchanged = TN_MASK_FLOAT}) {
  binary(frame, common_number(frame, arg::x, arg::y));
}

// d(x−y) = dx − dy
TN_GRADIENT(sub, {}) {
  if (c.needs(arg::x)) c.set(arg::x, c.grad());
  if (c.needs(arg::y)) c.set(arg::y, -c.grad());
}

TN_OP(mul) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x·y.",
    .example = "tenon.mul(t([1., 2.]), t([3., 4.]))",
    .linear = "x, y",
    .in_place = true,
    .rule = &rule::binary_arith,
    .gradient = &gradient::mul,
};

// d(x·y) = y·dx + x·dy
TN_GRADIENT(mul, {.if_needs = {in_(arg::y), in_(arg::x)}}) {
  if (c.needs(arg::x)) c.set(arg::x, mul(c.grad(), Value(c, arg::y).conjugate()));
  if (c.needs(arg::y)) c.set(arg::y, mul(c.grad(), Value(c, arg::x).conjugate()));
}

TN_OP(div) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x/y; for integers a floating result.",
    .example = "tenon.div(t([1, 2]), 4)",
    .in_place = true,
    .rule = &rule::binary_float,
    .gradient = &gradient::div,
};

// For sigmoid_backward and tanh_backward the operands are g and y.
TN_RULE(binary_float, div,
        {.dtypes = "promoted; integers and bool give f32",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all",
         .unchanged = TN_MASK_FLOAT}) {
  binary(frame, common_fraction(frame, arg::x, arg::y));
}

// d(x/y) = dx/y − (x/y)/y·dy. x is kept, not the result, which programs may change in place.
TN_GRADIENT(div, {.if_needs = {in_(arg::y), in_(arg::y) | in_(arg::x)}}) {
  const Value y = Value(c, arg::y).conjugate();
  if (c.needs(arg::x)) c.set(arg::x, div(c.grad(), y));
  if (c.needs(arg::y)) c.set(arg::y, -c.grad() * div(div(Value(c, arg::x).conjugate(), y), y));
}

TN_OP(floor_divide) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "floor(x/y).",
    .example = "tenon.floor_divide(t([7, -7]), 2)",
    .in_place = true,
    .rule = &rule::binary_real,
    .gradient = &gradient::floor_divide,
};

TN_RULE(binary_real, floor_divide,
        {.dtypes = "promoted; real",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all",
         .unchanged = TN_MASK_FLOAT}) {
  const tn_dtype dtype = common_dtype(frame, arg::x, arg::y);
  if (!in_mask(dtype, TN_MASK_REAL)) refuse(frame, dtype, "a real dtype");
  binary(frame, dtype);
}

// piecewise constant
TN_GRADIENT(floor_divide, {}) {
  const Tensor zero = full_like(c.grad(), 0);
  for (const uint32_t i : {arg::x, arg::y}) c.set(i, zero);
}

TN_OP(remainder) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x - y·floor(x/y), which has the sign of y, like Python's %.",
    .example = "tenon.remainder(t([7, -7]), 3)",
    .in_place = true,
    .rule = &rule::binary_real,
    .gradient = &gradient::remainder,
};

// x − ⌊x/y⌋·y: dx − ⌊x/y⌋·dy
TN_GRADIENT(remainder, {.if_needs = {0, in_(arg::x) | in_(arg::y)}}) {
  if (c.needs(arg::x)) c.set(arg::x, c.grad());
  if (c.needs(arg::y)) c.set(arg::y, -c.grad() * floor_divide(Value(c, arg::x), Value(c, arg::y)));
}

TN_OP(pow) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives =
        "x to the power of y. For integers a negative number is an error; a negative element of a "
        "tensor of exponents gives 0, or ±1 where x is ±1.",
    .example = "tenon.pow(t([2., 3.]), 2)",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::pow,
    .gradient = &gradient::pow,
};

TN_RULE(pow, pow,
        {.dtypes = "promoted to a common dtype, which the result has; not bool",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all",
         .unchanged = TN_MASK_FLOAT}) {
  const tn_dtype dtype = common_number(frame, arg::x, arg::y);
  if (in_mask(dtype, TN_MASK_INT)) require_whole_power(frame, dtype);
  binary(frame, dtype);
}

// d(x^y) = y·x^(y−1)·dx + x^y·ln x·dy; 0 to x if y = x = 0, and to y if x = 0 and Re y ≥ 0
TN_GRADIENT(pow, {.if_needs = {in_(arg::x) | in_(arg::y), in_(arg::x) | in_(arg::y) | out_(0)}}) {
  const Value x(c, arg::x), y(c, arg::y);
  const Tensor g = c.grad();
  if (c.needs(arg::x) && y.is_number()) {
    c.set(arg::x,
          y.complex() != 0.0 ? power_gradient(g, x.tensor(), y.complex()) : full_like(g, 0));
  } else if (c.needs(arg::x)) {
    const Tensor lower = where(logical_and(equal(x, 0), equal(y, 0)), 0, y.tensor() - 1);
    c.set(arg::x, g * conj_of(mul(y, pow(x, lower))));
  }
  if (!c.needs(arg::y)) return;
  const Tensor z = c.out();
  const Tensor base = x.is_number() ? full_like(z.detach(), c.number(arg::x)) : x.tensor();
  const Tensor flat = logical_and(equal(base, 0), greater_equal(real(y.tensor()), 0));
  c.set(arg::y, g * conj_of(z * log(where(flat, 1, base))));
}

TN_OP(maximum) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "The larger of the two; NaN if either is NaN.",
    .example = "tenon.maximum(t([1., 5.]), 3)",
    .in_place = true,
    .rule = &rule::extremum,
    .gradient = &gradient::maximum,
};

TN_RULE(extremum, maximum,
        {.dtypes = "promoted; real and bool",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all",
         .unchanged = TN_MASK_FLOAT}) {
  const tn_dtype dtype = common_dtype(frame, arg::x, arg::y);
  if (is_complex(dtype)) refuse(frame, dtype, "a real dtype");
  binary(frame, dtype);
}

// the larger operand takes dx; equal ones take half each
TN_GRADIENT(maximum, {.always = in_(arg::x) | in_(arg::y)}) { share_extremum(c, true); }

TN_OP(minimum) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "The smaller of the two; NaN if either is NaN.",
    .example = "tenon.minimum(t([1., 5.]), 3)",
    .in_place = true,
    .rule = &rule::extremum,
    .gradient = &gradient::minimum,
};

// the smaller operand takes dx; equal ones take half each
TN_GRADIENT(minimum, {.always = in_(arg::x) | in_(arg::y)}) { share_extremum(c, false); }

TN_OP(atan2) = {
    .schema = "(Tensor y, Tensor x) -> Tensor",
    .gives = "The angle of the point (x, y); y comes first.",
    .example = "tenon.atan2(t([1.]), t([-1.]))",
    .autocast = "widest",
    .rule = &rule::binary_real_float,
    .gradient = &gradient::atan2,
};

// For atan2 the operands are y and x.
TN_RULE(binary_real_float, hypot,
        {.dtypes = "promoted; real and bool; integers and bool give f32",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all"}) {
  binary(frame, common_real_fraction(frame, arg::x, arg::y));
}

// d(atan2(y, x)) = (x·dy − y·dx)/(x²+y²); 0 at 0
TN_GRADIENT(atan2, {.always = in_(arg::y) | in_(arg::x)}) {
  const Value y(c, arg::y), x(c, arg::x);
  const Tensor squared = x.is_number()   ? square(y.tensor()) + std::norm(x.complex())
                         : y.is_number() ? square(x.tensor()) + std::norm(y.complex())
                                         : square(x.tensor()) + square(y.tensor());
  const Tensor scaled = c.grad() / where(squared == 0, 1, squared);
  if (c.needs(arg::y)) c.set(arg::y, mul(scaled, x));
  if (c.needs(arg::x)) c.set(arg::x, -mul(scaled, y));
}

TN_OP(hypot) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "sqrt(x² + y²) without overflow.",
    .example = "tenon.hypot(t([3.]), t([4.]))",
    .rule = &rule::binary_real_float,
    .gradient = &gradient::hypot,
};

// d(√(x²+y²)) = (x·dx + y·dy)/z; 0 at 0
TN_GRADIENT(hypot, {.always = out_(0), .if_needs = {in_(arg::x), in_(arg::y)}}) {
  const Tensor z = c.out(), scaled = c.grad() / where(equal(z, 0), 1, z);
  if (c.needs(arg::x)) c.set(arg::x, scaled * c.in(arg::x));
  if (c.needs(arg::y)) c.set(arg::y, scaled * c.in(arg::y));
}

TN_OP(copysign) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "The magnitude of x with the sign of y.",
    .example = "tenon.copysign(t([1., 2.]), t([-1., 1.]))",
    .in_place = true,
    .rule = &rule::binary_real_float,
    .gradient = &gradient::copysign,
};

// |x| with y's sign: sign(x)·sign(z)·dx
TN_GRADIENT(copysign, {.if_needs = {in_(arg::x) | out_(0)}}) {
  if (c.needs(arg::x)) c.set(arg::x, c.grad() * (sign(c.in(arg::x)) * sign(c.out())));
}

TN_OP(nextafter) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "The number of the dtype next to x towards y; y if they are equal.",
    .example = "tenon.nextafter(t([0.]), t([1.]))",
    .in_place = true,
    .rule = &rule::binary_floating,
    .gradient = &gradient::nextafter,
};

TN_RULE(binary_floating, nextafter,
        {.dtypes = "promoted; floating",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all",
         .unchanged = TN_MASK_FLOAT}) {
  const tn_dtype dtype = common_dtype(frame, arg::x, arg::y);
  if (!in_mask(dtype, TN_MASK_FLOAT)) refuse(frame, dtype, "a floating dtype");
  binary(frame, dtype);
}

// a step of constant size nearly everywhere: dx; 0 if there is none, as in PyTorch
TN_GRADIENT(nextafter, {.if_needs = {in_(arg::x) | in_(arg::y)}}) {
  if (!c.needs(arg::x)) return;
  const Value x(c, arg::x), y(c, arg::y);
  c.set(arg::x, where(equal(x, y), 0, c.grad()));
}

TN_OP(logaddexp) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "log(exp(x) + exp(y)) without overflow.",
    .example = "tenon.logaddexp(t([0.]), t([0.]))",
    .rule = &rule::binary_real_float,
    .gradient = &gradient::logaddexp,
};

// d(ln(eˣ+eʸ)) = σ(x−y)·dx + σ(y−x)·dy
TN_GRADIENT(logaddexp, {.always = in_(arg::x) | in_(arg::y)}) {
  const Value x(c, arg::x), y(c, arg::y);
  const Tensor apart = sub(x, y);
  if (c.needs(arg::x)) c.set(arg::x, c.grad() * sigmoid(apart));
  if (c.needs(arg::y)) c.set(arg::y, c.grad() * sigmoid(-apart));
}

TN_OP(complex) = {
    .schema = "(Tensor re, Tensor im) -> Tensor",
    .gives = "re + i·im.",
    .example = "tenon.complex(t([1.]), t([2.]))",
    .linear = "re im",
    .rule = &rule::complex,
    .gradient = &gradient::complex,
};

TN_RULE(complex, complex,
        {.dtypes = "f32 parts give c64, f64 parts c128",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all"}) {
  tn_dtype dtype = common_real_fraction(frame, arg::re, arg::im);
  if (dtype != TN_DTYPE_F64) dtype = TN_DTYPE_F32;
  binary(frame, dtype, dtype == TN_DTYPE_F64 ? TN_DTYPE_C128 : TN_DTYPE_C64);
}

// a + b·i: the real and imaginary parts of g
TN_GRADIENT(complex, {}) {
  if (c.needs(arg::re)) c.set(arg::re, real(c.grad()));
  if (c.needs(arg::im)) c.set(arg::im, imag(c.grad()));
}

TN_OP(bitwise_and) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x & y.",
    .example = "tenon.bitwise_and(t([6, 5]), 4)",
    .in_place = true,
    .rule = &rule::binary_bits,
};

TN_RULE(binary_bits, bitwise_and,
        {.dtypes = "promoted; integers and bool",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all"}) {
  const tn_dtype dtype = common_dtype(frame, arg::x, arg::y);
  if (!in_mask(dtype, TN_MASK_INT | TN_MASK_BOOL)) refuse(frame, dtype, "an integer dtype or bool");
  binary(frame, dtype);
}

TN_OP(bitwise_or) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x | y.",
    .example = "tenon.bitwise_or(t([6, 5]), 1)",
    .in_place = true,
    .rule = &rule::binary_bits,
};

TN_OP(bitwise_xor) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x ^ y.",
    .example = "tenon.bitwise_xor(t([6, 5]), 7)",
    .in_place = true,
    .rule = &rule::binary_bits,
};

TN_OP(bitwise_left_shift) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x·2^y.",
    .example = "tenon.bitwise_left_shift(t([1, 3]), 2)",
    .in_place = true,
    .rule = &rule::binary_shift,
};

TN_RULE(binary_shift, bitwise_left_shift,
        {.dtypes = "promoted; integers",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all"}) {
  const tn_dtype dtype = common_dtype(frame, arg::x, arg::y);
  if (!in_mask(dtype, TN_MASK_INT)) refuse(frame, dtype, "an integer dtype");
  binary(frame, dtype);
}

TN_OP(bitwise_right_shift) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x shifted right by y bits; the sign is kept.",
    .example = "tenon.bitwise_right_shift(t([8, -8]), 2)",
    .in_place = true,
    .rule = &rule::binary_shift,
};
