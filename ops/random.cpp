// Random: Philox 4x32-10.
// Elements are numbered in row-major order, so these ops are no loops: see sdk/include/tenon/philox.hpp.
#include "ops/number.hpp"
#include "ops/record.hpp"

namespace {

// The dtype that argument `i` asks for.
tn_dtype float_dtype(const Frame& frame, uint32_t i) {
  return real_dtype(frame, i, TN_DTYPE_F32, TN_MASK_FLOAT, "a float dtype");
}
tn_dtype integer_dtype(const Frame& frame, uint32_t i) {
  return real_dtype(frame, i, TN_DTYPE_I64, TN_MASK_INT, "an integer dtype");
}

void require_finite(const Frame& frame, double a, double b) {
  frame.require(std::isfinite(a) && std::isfinite(b), "{} and {} must be finite", a, b);
}

}  // namespace

TN_OP(uniform) = {
    .schema =
        "(int[] shape, float low=0.0, float high=1.0, dtype? dtype=none, device? device=none, "
        "generator? generator=none) -> Tensor",
    .gives = "Uniform in [low, high).",
    .example = "tenon.uniform((2,), generator=tenon.Generator(1))",
    .rule = &rule::uniform,
};

TN_RULE(uniform, uniform,
        {.dtypes = "floating; f32 unless `dtype` says otherwise", .shapes = "`shape`"}) {
  const tn_dtype dtype = float_dtype(frame, arg::dtype);
  require_sizes(frame, frame.ints(arg::shape));
  const double low = frame.real(arg::low), high = frame.real(arg::high);
  require_finite(frame, low, high);
  frame.require(low <= high, "low {} is above high {}", low, high);
  frame.result(0, dtype, frame.ints(arg::shape));
}

TN_OP(normal) = {
    .schema =
        "(int[] shape, float mean=0.0, float std=1.0, dtype? dtype=none, device? device=none, "
        "generator? generator=none) -> Tensor",
    .gives = "Normally distributed with mean and std.",
    .example = "tenon.normal((2,), generator=tenon.Generator(1))",
    .rule = &rule::normal,
};

TN_RULE(normal, normal,
        {.dtypes = "floating; f32 unless `dtype` says otherwise", .shapes = "`shape`"}) {
  const tn_dtype dtype = float_dtype(frame, arg::dtype);
  require_sizes(frame, frame.ints(arg::shape));
  const double mean = frame.real(arg::mean), deviation = frame.real(arg::std);
  require_finite(frame, mean, deviation);
  frame.require(deviation >= 0, "std is {}, must not be negative", deviation);
  frame.result(0, dtype, frame.ints(arg::shape));
}

TN_OP(randint) = {
    .schema =
        "(int[] shape, int low, int high, dtype? dtype=none, device? device=none, generator? "
        "generator=none) -> Tensor",
    .gives = "Integers in [low, high).",
    .example = "tenon.randint((3,), 0, 10, generator=tenon.Generator(1))",
    .rule = &rule::randint,
};

TN_RULE(randint, randint,
        {.dtypes = "integers; i64 unless `dtype` says otherwise", .shapes = "`shape`"}) {
  const tn_dtype dtype = integer_dtype(frame, arg::dtype);
  require_sizes(frame, frame.ints(arg::shape));
  const int64_t low = frame.integer(arg::low), high = frame.integer(arg::high);
  frame.require(low < high, "low is {}, must be below high, which is {}", low, high);
  frame.require(holds(dtype, low) && holds(dtype, high - 1), "{} to {} does not fit {}", low,
                high - 1, dtype_name(dtype));
  frame.result(0, dtype, frame.ints(arg::shape));
}

TN_OP(randperm) = {
    .schema =
        "(int n, dtype? dtype=none, device? device=none, generator? generator=none) -> Tensor",
    .gives = "0 … n - 1 in random order.",
    .example = "tenon.randperm(4, generator=tenon.Generator(1))",
    .rule = &rule::randperm,
};

TN_RULE(randperm, randperm,
        {.dtypes = "integers; i64 unless `dtype` says otherwise", .shapes = "one dimension of n"}) {
  const tn_dtype dtype = integer_dtype(frame, arg::dtype);
  const int64_t n = frame.integer(arg::n);
  frame.require(n >= 0, "n is {}, must not be negative", n);
  frame.require(n == 0 || holds(dtype, n - 1), "{} does not fit {}", n - 1, dtype_name(dtype));
  frame.result(0, dtype, {&n, 1});
}

TN_OP(bernoulli) = {
    .schema = "(Tensor p, generator? generator=none) -> Tensor",
    .gives = "1 with probability p, else 0.",
    .example = "tenon.bernoulli(t([0., 1.]))",
    .rule = &rule::bernoulli,
    .gradient = &gradient::zero,
};

TN_RULE(bernoulli, bernoulli,
        {.dtypes = "real and bool; integers and bool give f32", .shapes = "p's"}) {
  const tn_tensor& p = float_operand(frame, arg::p);
  frame.result(0, fractional(p.dtype()), p.sizes());
}

TN_OP(dropout_mask) = {
    .schema = "(Tensor x, float p, generator? generator=none) -> Tensor",
    .gives = "1/(1 - p) with probability 1 - p, else 0, in the shape of x.",
    .example = "tenon.dropout_mask(t([1., 1.]), 0.0)",
    .rule = &rule::dropout_mask,
};

TN_RULE(dropout_mask, dropout_mask, {.dtypes = "floating; the result has x's", .shapes = "x's"}) {
  const tn_tensor& x = operand(frame, arg::x, TN_MASK_FLOAT, "a float dtype");
  const double p = frame.real(arg::p);
  frame.require(p >= 0 && p <= 1, "p is {}, must lie in [0, 1]", p);
  frame.result(0, x.dtype(), x.sizes());
}

TN_OP(dropout) = {
    .schema = "(Tensor x, float p=0.5, bool training=true, generator? generator=none) -> Tensor",
    .gives =
        "x with elements zeroed with probability p and the others scaled by 1/(1 - p); x itself "
        "outside of training.",
    .example = "tenon.dropout(t([1., 2.]), 0.5, training=False)",
    .dtypes = "any; floating in training",
    .shapes = "x's",
    .through = true,
    .decompose = &decomposition::dropout,
};

// Srivastava et al. 2014; scaled during training, so that evaluation is the identity
TN_DECOMPOSE(dropout) {
  const double p = in.real(arg::p);
  in.frame().require(p >= 0 && p <= 1, "p must be between 0 and 1, got {}", p);
  const Tensor x = in.tensor(arg::x);
  out[0] = in.flag(arg::training) && p > 0
               ? x * dropout_mask(x.detach(), p, in.generator(arg::generator))
               : alias(x);
}
