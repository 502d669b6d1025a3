// Comparisons and logic.
#include "ops/number.hpp"
#include "ops/record.hpp"

TN_OP(equal) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x == y.",
    .example = "tenon.equal(t([1, 2]), 2)",
    .rule = &rule::compare,
};

TN_RULE(
    compare, equal,
    {.dtypes = "promoted; bool", .shapes = "broadcast", .elementwise = true, .numbers = "all"}) {
  binary(frame, compared_dtype(frame, arg::x, arg::y), TN_DTYPE_BOOL);
}

TN_OP(not_equal) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x != y.",
    .example = "tenon.not_equal(t([1, 2]), 2)",
    .rule = &rule::compare,
};

TN_OP(less) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x < y.",
    .example = "tenon.less(t([1, 2]), 2)",
    .rule = &rule::compare_order,
};

TN_RULE(compare_order, less,
        {.dtypes = "promoted; not complex; bool",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "all"}) {
  const tn_dtype dtype = compared_dtype(frame, arg::x, arg::y);
  if (is_complex(dtype)) refuse(frame, dtype, "an ordered dtype");
  binary(frame, dtype, TN_DTYPE_BOOL);
}

TN_OP(less_equal) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x <= y.",
    .example = "tenon.less_equal(t([1, 3]), 2)",
    .rule = &rule::compare_order,
};

TN_OP(greater) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x > y.",
    .example = "tenon.greater(t([1, 3]), 2)",
    .rule = &rule::compare_order,
};

TN_OP(greater_equal) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "x >= y.",
    .example = "tenon.greater_equal(t([1, 2]), 2)",
    .rule = &rule::compare_order,
};

TN_OP(logical_and) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "Whether both are not zero.",
    .example = "tenon.logical_and(t([0, 1]), t([1, 1]))",
    .rule = &rule::compare,
};

TN_OP(logical_or) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "Whether at least one is not zero.",
    .example = "tenon.logical_or(t([0, 1]), t([0, 1]))",
    .rule = &rule::compare,
};

TN_OP(logical_xor) = {
    .schema = "(Tensor x, Tensor y) -> Tensor",
    .gives = "Whether exactly one is not zero.",
    .example = "tenon.logical_xor(t([0, 1]), t([1, 1]))",
    .rule = &rule::compare,
};
