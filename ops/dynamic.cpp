// Ops whose results' sizes depend on data.
#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

TN_OP(unique) = {
    .schema = "(Tensor x) -> Tensor values, Tensor indices, Tensor inverse, Tensor counts",
    .gives =
        "The distinct elements in ascending order, where each first occurs, which of them each "
        "element is, and how often each occurs.",
    .example = "tenon.op('unique')(t([2, 1, 2]))",
    .rule = &rule::unique,
};

TN_RULE(unique, unique,
        {.dtypes = "real and bool; indices, inverse and counts are i64",
         .shapes = "`inverse` has x's; the others depend on the data and are known once the kernel "
                   "has run"}) {
  const tn_tensor& x = ordered_operand(frame, arg::x);
  frame.dynamic_result(arg::result::values, x.dtype());
  frame.dynamic_result(arg::result::indices, TN_DTYPE_I64);
  frame.result(arg::result::inverse, TN_DTYPE_I64, x.sizes());
  frame.dynamic_result(arg::result::counts, TN_DTYPE_I64);
}

TN_OP(nonzero) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "The positions of elements that are not zero, one row for each.",
    .example = "t([0, 3, 4]).nonzero()",
    .rule = &rule::nonzero,
};

TN_RULE(nonzero, nonzero,
        {.dtypes = "any; i64",
         .shapes = "depend on the data and are known once the kernel has run"}) {
  operand(frame, arg::x);
  frame.dynamic_result(0, TN_DTYPE_I64);
}

TN_OP(masked_select) = {
    .schema = "(Tensor x, Tensor mask) -> Tensor",
    .gives = "The elements where the mask is true.",
    .example = "tenon.masked_select(t([1., 2., 3.]), t([True, False, True]))",
    .linear = "x",
    .rule = &rule::masked_select,
    .gradient = &gradient::masked_select,
};

TN_RULE(masked_select, masked_select,
        {.dtypes = "any; the mask is bool",
         .shapes = "depend on the data and are known once the kernel has run"}) {
  const tn_tensor& x = operand(frame, arg::x);
  const tn_tensor& mask = operand(frame, arg::mask, TN_MASK_BOOL, "a bool mask");
  count_elements(broadcast_shapes(frame, x.sizes(), mask.sizes()));  // throws if there are too many
  frame.dynamic_result(0, x.dtype());
}

// g where the mask is set, 0 elsewhere
TN_GRADIENT(masked_select, {.always = in_(arg::mask)}) {
  const Tensor g = c.grad(), mask = c.in(arg::mask);
  const auto x = c.shape(arg::x), m = mask.shape();
  Sizes shape(x.size() > m.size() ? x : m);  // the broadcast shape
  for (const auto& other : {x, m})
    for (size_t d = 0; d < other.size(); ++d) {
      int64_t& size = shape[shape.size() - other.size() + d];
      if (size == 1) size = other[d];
    }
  const Tensor places = reshape(nonzero(reshape(expand(mask, shape), -1)), -1);
  c.set(arg::x,
        reshape(put(detail::op_scatter, zeros(product(shape), g), int64_t{0}, places, g), shape));
}
