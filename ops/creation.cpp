// Creation.
// Tensors made from numbers, and triangles of matrices.
#include "ops/gradients.hpp"
#include "ops/number.hpp"
#include "ops/record.hpp"

namespace {

// Refuses a value that `dtype` cannot hold.
void require_value(const Frame& frame, uint32_t i, tn_dtype dtype) {
  const tn_value& value = frame.arg(i);
  frame.require(value.tag != TN_VALUE_COMPLEX || is_complex(dtype),
                "a complex value does not fit {}", dtype_name(dtype));
  require_holds(frame, dtype, value);
}

// The number of steps of arange from `start` to below `end`; exact for integers.
int64_t count_steps(const Frame& frame) {
  using arg = tenon::arg::arange;
  const auto whole = [&](uint32_t i) { return kind_of(frame.arg(i)) <= Kind::Int; };
  if (whole(arg::start) && whole(arg::end) && whole(arg::step)) {
    const int64_t start = frame.integer(arg::start), end = frame.integer(arg::end),
                  step = frame.integer(arg::step);
    frame.require(step != 0, "step is 0");
    const bool empty = step > 0 ? start >= end : start <= end;
    if (empty) return 0;
    // Unsigned, so that even the distance across the whole range of i64 is exact.
    const uint64_t distance = step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(start)
                                       : static_cast<uint64_t>(start) - static_cast<uint64_t>(end);
    const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
    return static_cast<int64_t>((distance - 1) / stride + 1);
  }
  const double start = frame.real(arg::start), end = frame.real(arg::end),
               step = frame.real(arg::step);
  frame.require(step != 0, "step is 0");
  const double count = std::ceil((end - start) / step);
  frame.require(std::isfinite(count), "from {} to {} by {} has no finite length", start, end, step);
  return count > 0 ? static_cast<int64_t>(std::min(count, 0x1p62)) : 0;
}

// For tril what lies on and below diagonal k, for triu what lies on and above it.
Tensor triangle(const CompositeArgs& in, bool upper) {
  using arg = tenon::arg::tril;
  const Tensor x = in.tensor(arg::x);
  in.frame().require(x.ndim() >= 2, "rank 2 or more is needed, not {}", x.ndim());
  const Tensor row = unsqueeze(arange(0, x.shape(-2), 1, DType::I64, x.device()), 1);
  const Tensor column = arange(0, x.shape(-1), 1, DType::I64, x.device());
  const Tensor distance = column - row;
  const int64_t k = in.integer(arg::k);
  const Scalar zero = x.dtype() == DType::Bool ? Scalar(false) : Scalar(0);
  return where(upper ? distance >= k : distance <= k, x, zero);
}

}  // namespace

TN_OP(full) = {
    .schema = "(int[] shape, Scalar value, dtype? dtype=none, device? device=none) -> Tensor",
    .gives = "One value everywhere.",
    .example = "tenon.full((2, 2), 7)",
    .rule = &rule::full,
};

TN_RULE(full, full,
        {.dtypes = "`dtype`, else that of the number (f32, i64, bool, c64)", .shapes = "`shape`"}) {
  const tn_dtype dtype = frame.dtype_or(arg::dtype, default_dtype(kind_of(frame.arg(arg::value))));
  require_sizes(frame, frame.ints(arg::shape));
  require_value(frame, arg::value, dtype);
  frame.result(0, dtype, frame.ints(arg::shape));
}

TN_OP(full_like) = {
    .schema = "(Tensor x, Scalar value, dtype? dtype=none) -> Tensor",
    .gives = "One value everywhere, in the shape and order of dimensions of x.",
    .example = "tenon.full_like(t([1., 2.]), 7)",
    .elementwise = true,
    .rule = &rule::full_like,
};

TN_RULE(full_like, full_like, {.dtypes = "`dtype`, else x's", .shapes = "x's"}) {
  const tn_tensor& x = operand(frame, arg::x);
  const tn_dtype dtype = frame.dtype_or(arg::dtype, x.dtype());
  require_value(frame, arg::value, dtype);
  frame.result(0, dtype, x.sizes());
  frame.like = &x;
}

TN_OP(arange) = {
    .schema =
        "(Scalar start, Scalar end, Scalar step, dtype? dtype=none, device? device=none) -> "
        "Tensor",
    .gives = "start, start + step, … below end.",
    .example = "tenon.arange(0, 6, 2)",
    .rule = &rule::arange,
};

TN_RULE(arange, arange,
        {.dtypes = "real; `dtype`, else that of the numbers", .shapes = "one dimension"}) {
  Kind kind = Kind::Int;
  for (const uint32_t i : {arg::start, arg::end, arg::step}) {
    frame.require(frame.arg(i).tag != TN_VALUE_COMPLEX, "start, end and step must be real");
    kind = std::max(kind, kind_of(frame.arg(i)));
  }
  const tn_dtype dtype =
      real_dtype(frame, arg::dtype, default_dtype(kind), TN_MASK_REAL, "a real dtype");
  const int64_t n = count_steps(frame);
  frame.result(0, dtype, {&n, 1});
}

TN_OP(linspace) = {
    .schema =
        "(float start, float end, int num, bool endpoint=true, dtype? dtype=none, device? "
        "device=none) -> Tensor",
    .gives = "num numbers from start to end, end included by default.",
    .example = "tenon.linspace(0., 1., 5)",
    .rule = &rule::linspace,
};

TN_RULE(linspace, linspace,
        {.dtypes = "floating; f32 unless `dtype` says otherwise",
         .shapes = "one dimension of `num`"}) {
  const tn_dtype dtype =
      real_dtype(frame, arg::dtype, TN_DTYPE_F32, TN_MASK_FLOAT, "a float dtype");
  const int64_t n = frame.integer(arg::num);
  frame.require(n >= 0, "num is {}, must not be negative", n);
  frame.result(0, dtype, {&n, 1});
}

TN_OP(eye) = {
    .schema = "(int n, int? m=none, int k=0, dtype? dtype=none, device? device=none) -> Tensor",
    .gives = "Ones on the k-th diagonal of an n×m matrix.",
    .example = "tenon.eye(2)",
    .rule = &rule::eye,
};

TN_RULE(eye, eye, {.dtypes = "`dtype`, else f32", .shapes = "(n, m)"}) {
  const tn_dtype dtype = frame.dtype_or(arg::dtype, TN_DTYPE_F32);
  const int64_t n = frame.integer(arg::n);
  const int64_t sizes[] = {n, frame.has(arg::m) ? frame.integer(arg::m) : n};
  require_sizes(frame, sizes);
  frame.result(0, dtype, sizes);
}

TN_OP(tril) = {
    .schema = "(Tensor x, int k=0) -> Tensor",
    .gives = "The lower triangle up to the k-th diagonal of the last two dimensions.",
    .example = "tenon.tril(t([[1., 2.], [3., 4.]]))",
    .linear = "x",
    .in_place = true,
    .rule = &rule::matrix,
    .gradient = &gradient::tril,
    .decompose = &decomposition::tril,
};

TN_RULE(matrix, tril,
        {.dtypes = "any; the result has x's",
         .shapes = "x's, of rank 2 or more; each matrix on its own"}) {
  const tn_tensor& x = operand(frame, arg::x);
  require_rank(frame, arg::x, 2, TN_MAX_DIMS);
  frame.result(0, x.dtype(), x.sizes());
}

// g in the part that was kept
TN_GRADIENT(tril, {}) { c.set(arg::x, tril(c.grad(), c.integer(arg::k))); }

TN_DECOMPOSE(tril) { out[0] = triangle(in, false); }

TN_OP(triu) = {
    .schema = "(Tensor x, int k=0) -> Tensor",
    .gives = "The upper triangle from the k-th diagonal of the last two dimensions.",
    .example = "tenon.triu(t([[1., 2.], [3., 4.]]))",
    .linear = "x",
    .in_place = true,
    .rule = &rule::matrix,
    .gradient = &gradient::triu,
    .decompose = &decomposition::triu,
};

// g in the part that was kept
TN_GRADIENT(triu, {}) { c.set(arg::x, triu(c.grad(), c.integer(arg::k))); }

TN_DECOMPOSE(triu) { out[0] = triangle(in, true); }
