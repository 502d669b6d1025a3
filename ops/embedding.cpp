// Tables of rows.
#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

TN_OP(embedding) = {
    .schema = "(Tensor weight, Tensor index, int? padding_idx=none) -> Tensor",
    .gives = "The rows of weight that index names.",
    .example = "tenon.embedding(t([[1., 2.], [3., 4.]]), t([1, 1]))",
    .linear = "weight",
    .rule = &rule::embedding,
    .gradient = &gradient::embedding,
    .decompose = &decomposition::embedding,
};

TN_RULE(embedding, embedding,
        {.dtypes = "the weight's; the index is an integer",
         .shapes = "the index's, followed by the weight's columns"}) {
  tn_tensor& weight = operand(frame, arg::weight);
  require_rank(frame, arg::weight, 2, 2);
  tn_tensor& index = index_operand(frame, arg::index);
  Dims shape(index.sizes());
  shape.push(weight.shape()[1]);
  frame.result(0, weight.dtype(), shape);
}

// g added up at the rows that were read; none for the padding row
TN_GRADIENT(embedding, {.always = in_(arg::index)}) {
  if (!c.needs(arg::weight)) return;
  const Tensor g = c.grad(), index = c.in(arg::index);
  const auto shape = c.shape(arg::weight);
  // The weight may have another use, as in the last layer; then g is added to the gradient from there, not to zeros.
  const Tensor sum = c.has(arg::padding_idx) ? Tensor() : sum_so_far(c, arg::weight, g);
  if (!sum.defined())
    return c.set(arg::weight,
                 embedding_backward(g, index, shape[0], optional_integer(c, arg::padding_idx)));
  const int64_t count = index.numel();
  c.set(arg::weight, put(detail::op_index_add, sum, int64_t{0}, reshape(index, count),
                         reshape(g, {count, shape[1]})));
}

// rows of the weight
TN_DECOMPOSE(embedding) {
  const Tensor weight = in.tensor(arg::weight), index = in.tensor(arg::index);
  std::vector<int64_t> shape(index.shape().begin(), index.shape().end());
  shape.push_back(weight.shape(1));
  out[0] = reshape(index_select(weight, 0, reshape(index, index.numel())), shape);
}

TN_OP(embedding_backward) = {
    .schema = "(Tensor g, Tensor index, int rows, int? padding_idx=none) -> Tensor",
    .gives = "The gradient of embedding for a weight with that many rows.",
    .example = "tenon.embedding_backward(t([[1., 1.]]), t([1]), 2)",
    .linear = "g",
    .rule = &rule::embedding_backward,
    .gradient = &gradient::embedding_backward,
};

TN_RULE(embedding_backward, embedding_backward,
        {.dtypes = "g's", .shapes = "(rows, columns of g)"}) {
  tn_tensor& g = operand(frame, arg::g);
  tn_tensor& index = index_operand(frame, arg::index);
  const bool fits =
      g.ndim() == index.ndim() + 1 && same_shape(g.sizes().first(index.ndim()), index.sizes());
  frame.require(fits, "gradient {} does not have the shape of index {} and a row",
                format_shape(g.sizes()), format_shape(index.sizes()));
  const int64_t rows = frame.integer(arg::rows);
  frame.require(rows >= 0, "rows must not be negative, got {}", rows);
  if (frame.has(arg::padding_idx) && frame.integer(arg::padding_idx) < 0)
    frame.set_integer(arg::padding_idx, frame.integer(arg::padding_idx) + rows);
  const int64_t shape[] = {rows, g.shape()[index.ndim()]};
  frame.result(0, g.dtype(), shape);
}

// linear in g: reads the rows to which g was added; zeros at the padding row
TN_GRADIENT(embedding_backward, {.always = in_(arg::index)}) {
  const Tensor index = c.in(arg::index), read = embedding(c.grad(), index);
  if (!c.has(arg::padding_idx)) return c.set(arg::g, read);
  const int64_t padding = wrapped(c.integer(arg::padding_idx), c.integer(arg::rows));
  c.set(arg::g, where(unsqueeze(equal(index, padding), -1), 0, read));
}

TN_OP(embedding_bag) = {
    .schema =
        "(Tensor weight, Tensor index, Tensor offsets, str mode=\"mean\", Tensor? "
        "per_sample_weights=none, int? padding_idx=none) -> Tensor",
    .gives =
        "The sum, mean or max of the rows of weight that index names, over bags: offsets holds the "
        "position in index where each bag begins, the first of which is 0. Empty bags give 0. Rows "
        "are multiplied by per_sample_weights; those of padding_idx are left out.",
    .example = "tenon.embedding_bag(t([[1., 2.], [3., 4.]]), t([1, 1, 0]), t([0, 2]), 'sum')",
    .rule = &rule::embedding_bag,
    .through = true,
    .decompose = &decomposition::embedding_bag,
};

TN_RULE(
    embedding_bag, embedding_bag,
    {.dtypes = "a floating dtype, the weight's; index and offsets are integers",
     .shapes = "weight (R, W), index (n), per_sample_weights (n) and offsets (B) give (B, W)"}) {
  const tn_tensor& weight = operand(frame, arg::weight, TN_MASK_FLOAT, "a floating-point dtype");
  require_rank(frame, arg::weight, 2, 2);
  tn_tensor &index = index_operand(frame, arg::index),
            &offsets = index_operand(frame, arg::offsets);
  require_rank(frame, arg::index, 1, 1);
  require_rank(frame, arg::offsets, 1, 1);
  frame.require(offsets.numel > 0 || index.numel == 0, "{} indices but no bag", index.numel);
  parameter(frame, arg::per_sample_weights, index.sizes(), weight.dtype());
  const std::string_view mode = frame.str(arg::mode);
  frame.require(mode == "sum" || mode == "mean" || mode == "max",
                "mode must be sum, mean or max, got {}", mode);
  if (frame.has(arg::padding_idx) && frame.integer(arg::padding_idx) < 0)
    frame.set_integer(arg::padding_idx, frame.integer(arg::padding_idx) + weight.shape()[0]);
  const int64_t shape[] = {offsets.numel, weight.shape()[1]};
  frame.result(0, weight.dtype(), shape);
}

// rows into bags; ignored ones go into an extra bag after the others
TN_DECOMPOSE(embedding_bag) {
  const Tensor weight = in.tensor(arg::weight), index = in.tensor(arg::index),
               offsets = in.tensor(arg::offsets);
  const int64_t n = index.numel(), bags = offsets.numel();
  Tensor bag = searchsorted(offsets, arange(0, n, 1, DType::I64, index.device()), true) - 1;
  if (in.has(arg::padding_idx)) bag = where(equal(index, in.integer(arg::padding_idx)), bags, bag);
  Tensor rows = embedding(weight, index);
  if (in.has(arg::per_sample_weights))
    rows = rows * unsqueeze(in.tensor(arg::per_sample_weights), 1);
  const Tensor empty = zeros({bags + 1, weight.shape(1)}, weight);
  Tensor found =
      in.str(arg::mode) == "max"
          ? scatter_reduce(empty, 0, expand(unsqueeze(bag, 1), rows.shape()), rows, "amax", false)
          : index_add(empty, 0, bag, rows);
  if (in.str(arg::mode) == "mean") {
    const Tensor count = index_add(zeros({bags + 1}, weight), 0, bag, ones({n}, weight));
    found = found / unsqueeze(maximum(count, 1), 1);
  }
  out[0] = slice(found, 0, 0, bags);
}
