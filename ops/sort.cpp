// Order along one dimension.
#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

// Puts g back at the saved indices. sort and topk have x and the results in the same positions.
void scatter_back(GradCall& c, int64_t dim) {
  using arg = tenon::arg::sort;
  const Tensor g = c.grad(arg::result::values);
  if (!g.defined()) return;
  const auto shape = c.shape(arg::x);
  c.set(arg::x, shape.empty() ? g
                              : put(detail::op_scatter, zeros(shape, g), dim,
                                    c.out(arg::result::indices), g));
}

}  // namespace

TN_OP(sort) = {
    .schema =
        "(Tensor x, int dim=-1, bool descending=false, bool stable=true) -> Tensor values, "
        "Tensor indices",
    .gives = "x sorted along dim, with the positions from which the values came.",
    .example = "tenon.op('sort')(t([3., 1., 2.]))",
    .rule = &rule::sort,
    .gradient = &gradient::sort,
};

TN_RULE(sort, sort, {.dtypes = "real and bool; indices are i64", .shapes = "x's, both"}) {
  const tn_tensor& x = ordered_operand(frame, arg::x);
  frame.result(arg::result::values, x.dtype(), x.sizes());
  frame.result(arg::result::indices, TN_DTYPE_I64, x.sizes());
  along(frame, arg::dim, x.ndim());
}

// g at the places from which the values came
TN_GRADIENT(sort, {.always = out_(arg::result::indices)}) { scatter_back(c, c.integer(arg::dim)); }

TN_OP(argsort) = {
    .schema = "(Tensor x, int dim=-1, bool descending=false, bool stable=true) -> Tensor",
    .gives = "The positions that sort x along dim.",
    .example = "t([3., 1., 2.]).argsort()",
    .dtypes = "real and bool; i64",
    .shapes = "x's",
    .decompose = &decomposition::argsort,
};

TN_DECOMPOSE(argsort) {
  out[0] =
      sort(in.tensor(arg::x), in.integer(arg::dim), in.flag(arg::descending), in.flag(arg::stable))
          .indices;
}

TN_OP(topk) = {
    .schema =
        "(Tensor x, int k, int dim=-1, bool largest=true, bool sorted=true) -> Tensor values, "
        "Tensor indices",
    .gives = "The k largest, or smallest, along dim, with their positions.",
    .example = "tenon.topk(t([3., 1., 2.]), 2)",
    .rule = &rule::topk,
    .gradient = &gradient::topk,
};

TN_RULE(topk, topk,
        {.dtypes = "real and bool; indices are i64", .shapes = "x's with `k` along `dim`, both"}) {
  const tn_tensor& x = ordered_operand(frame, arg::x);
  const uint32_t dim = along(frame, arg::dim, x.ndim());
  const int64_t k = frame.integer(arg::k);
  const int64_t size = x.ndim() == 0 ? 1 : x.shape()[dim];
  const int64_t least = x.ndim() == 0 ? 1 : 0;  // a rank-0 tensor has one element
  frame.require(k >= least && k <= size, "k {} out of range for dimension {} of size {}", k, dim,
                size);
  Dims shape(x.sizes());
  if (x.ndim() > 0) shape[dim] = k;
  frame.result(arg::result::values, x.dtype(), shape);
  frame.result(arg::result::indices, TN_DTYPE_I64, shape);
}

// g at the places from which the values came, 0 elsewhere
TN_GRADIENT(topk, {.always = out_(arg::result::indices)}) { scatter_back(c, c.integer(arg::dim)); }

TN_OP(searchsorted) = {
    .schema = "(Tensor sorted, Tensor values, bool right=false) -> Tensor",
    .gives =
        "Where to insert values into a sorted tensor: before equal elements, or after them "
        "(right).",
    .example = "t([1., 3., 5.]).searchsorted(t([3., 4.]))",
    .rule = &rule::searchsorted,
};

TN_RULE(searchsorted, searchsorted,
        {.dtypes = "promoted; not complex; i64",
         .shapes = "the values'; `sorted` is one row, or has a row for each row of values"}) {
  tn_tensor& sorted = operand(frame, arg::sorted);
  tn_tensor& values = operand(frame, arg::values);
  const uint32_t rank = sorted.ndim();
  const bool rows = rank == values.ndim() && rank > 0 &&
                    same_shape(sorted.sizes().first(rank - 1), values.sizes().first(rank - 1));
  frame.require(rank == 1 || rows, "sorted {} fits values {} neither as one row nor row by row",
                format_shape(sorted.sizes()), format_shape(values.sizes()));
  const tn_dtype common = promote(sorted.dtype(), values.dtype());
  frame.require(!is_complex(common), "wants an ordered dtype, got {}", dtype_name(common));
  frame.cast_all(common);
  frame.result(0, TN_DTYPE_I64, values.sizes());
}
