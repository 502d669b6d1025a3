// Joining and repeating.
#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

// Repeats every dimension d of x (padded with leading ones) repeats[d] times: expands it to (times, size) and merges the two.
Tensor repeated(const Frame& frame, const Tensor& x, std::span<const int64_t> repeats) {
  const size_t rank = std::max<size_t>(repeats.size(), x.ndim());
  frame.require(2 * rank <= TN_MAX_DIMS, "at most {} dims can be repeated, not {}", TN_MAX_DIMS / 2,
                rank);
  std::vector<int64_t> split, wide, merged;
  for (size_t d = 0; d < rank; ++d) {
    const size_t behind = rank - d;
    const int64_t size = behind <= static_cast<size_t>(x.ndim()) ? x.shape()[x.ndim() - behind] : 1;
    const int64_t times = behind <= repeats.size() ? repeats[repeats.size() - behind] : 1;
    frame.require(times >= 0 && (size == 0 || times <= INT64_MAX / size),
                  "repeats {} has an entry that is negative or too large", format_shape(repeats));
    split.insert(split.end(), {1, size});
    wide.insert(wide.end(), {times, size});
    merged.push_back(times * size);
  }
  return reshape(clone(expand(reshape(x, split), wide)), merged);
}

}  // namespace

TN_OP(roll) = {
    .schema = "(Tensor x, int[] shifts, int[]? dims=none) -> Tensor",
    .gives = "x shifted along dims; elements that leave at one end return at the other.",
    .example = "tenon.roll(t([1., 2., 3.]), 1)",
    .linear = "x",
    .rule = &rule::roll,
    .gradient = &gradient::roll,
};

// Without `dims` x is rolled as if flattened.
TN_RULE(roll, roll, {.dtypes = "any; the result has x's", .shapes = "x's"}) {
  tn_tensor& x = operand(frame, arg::x);
  frame.raise(arg::x);
  if (frame.has(arg::dims)) {
    const auto dims = frame.ints(arg::dims);
    frame.require(frame.ints(arg::shifts).size() == dims.size(), "{} shifts for {} dims",
                  frame.ints(arg::shifts).size(), dims.size());
    Dims wrapped;
    for (int64_t dim : dims) wrapped.push(wrap_dim(frame, dim, x.ndim()));
    frame.set_ints(arg::dims, wrapped);
  } else {
    frame.require(frame.ints(arg::shifts).size() == 1, "{} shifts without dims; one expected",
                  frame.ints(arg::shifts).size());
  }
  frame.result(0, x.dtype(), x.sizes());
}

// rolled back
TN_GRADIENT(roll, {}) {
  Sizes back;
  for (const int64_t shift : c.ints(arg::shifts)) back.push(-shift);
  c.set(arg::x, c.has(arg::dims) ? roll(c.grad(), back, c.ints(arg::dims)) : roll(c.grad(), back));
}

TN_OP(concat) = {
    .schema = "(Tensor[] xs, int dim=0) -> Tensor",
    .gives = "Tensors joined along dim.",
    .example = "tenon.concat([t([1., 2.]), t([3.])])",
    .autocast = "widest",
    .linear = "xs",
    .rule = &rule::concat,
    .gradient = &gradient::concat,
};

TN_RULE(concat, concat,
        {.dtypes = "promoted", .shapes = "equal except along `dim`, where they add up"}) {
  const auto xs = frame.tensors(arg::xs);
  frame.require(!xs.empty(), "no tensors to join");
  Dims shape(xs[0]->sizes());
  frame.require(shape.n > 0, "tensors of rank 0 have no dimension to join");
  const uint32_t dim = fix_dim(frame, arg::dim, shape.n);
  tn_dtype dtype = xs[0]->dtype();
  for (size_t k = 1; k < xs.size(); ++k) {
    bool fits = xs[k]->ndim() == shape.n;
    for (uint32_t d = 0; fits && d < shape.n; ++d) fits = d == dim || xs[k]->shape()[d] == shape[d];
    frame.require(fits, "tensor {} of shape {} does not join with {} along dimension {}", k,
                  format_shape(xs[k]->sizes()), format_shape(xs[0]->sizes()), dim);
    shape[dim] += xs[k]->shape()[dim];
    if (xs[k]->dtype() != dtype) dtype = promote(dtype, xs[k]->dtype());
  }
  for (tn_tensor* x : xs)
    if (x->dtype() != dtype) frame.cast(arg::xs, dtype);
  frame.result(0, dtype, shape);
}

// each operand gets its part
TN_GRADIENT(concat, {}) {
  const Tensor g = c.grad();
  const int64_t dim = wrapped(c.integer(arg::dim), g.ndim());
  int64_t at = 0;
  for (uint32_t k = 0; k < c.count(arg::xs); ++k) {
    const int64_t size = c.shape(arg::xs, k)[dim];
    if (c.needs(arg::xs, k)) c.set(arg::xs, k, slice(g, dim, at, at + size));
    at += size;
  }
}

TN_OP(stack) = {
    .schema = "(Tensor[] xs, int dim=0) -> Tensor",
    .gives = "Tensors joined along a new dimension.",
    .example = "tenon.stack([t([1., 2.]), t([3., 4.])])",
    .autocast = "widest",
    .dtypes = "any, promoted",
    .shapes = "All have the same shape; the result has their number at `dim`",
    .linear = "xs",
    .through = true,
    .decompose = &decomposition::stack,
};

TN_DECOMPOSE(stack) {
  std::vector<Tensor> xs = in.tensors(arg::xs);
  in.frame().require(!xs.empty(), "no tensors to stack");
  const uint32_t dim =
      wrap_dim(in.frame(), in.integer(arg::dim), static_cast<uint32_t>(xs[0].ndim()) + 1);
  const std::vector<int64_t> first(xs[0].shape().begin(), xs[0].shape().end());
  for (size_t k = 0; k < xs.size(); ++k) {
    in.frame().require(std::ranges::equal(xs[k].shape(), first),
                       "tensor {} has shape {}, the first has {}", k, format_shape(xs[k].shape()),
                       format_shape(first));
    xs[k] = unsqueeze(xs[k], dim);
  }
  out[0] = concat(xs, dim);
}

TN_OP(repeat) = {
    .schema = "(Tensor x, int[] repeats) -> Tensor",
    .gives = "Copies side by side, repeated along each dimension.",
    .example = "t([1., 2.]).repeat(2)",
    .dtypes = "any",
    .shapes = "Each size times its repeat, which may name new leading dimensions",
    .linear = "x",
    .through = true,
    .decompose = &decomposition::repeat,
};

TN_DECOMPOSE(repeat) {
  const Tensor x = in.tensor(arg::x);
  in.frame().require(in.ints(arg::repeats).size() >= static_cast<size_t>(x.ndim()),
                     "{} repeats for a tensor of rank {}", in.ints(arg::repeats).size(), x.ndim());
  out[0] = repeated(in.frame(), x, in.ints(arg::repeats));
}

TN_OP(tile) = {
    .schema = "(Tensor x, int[] repeats) -> Tensor",
    .gives = "Copies side by side, like numpy.tile.",
    .example = "tenon.tile(t([1., 2.]), 2)",
    .dtypes = "any",
    .shapes = "Each size times its repeat; missing repeats at the front are 1",
    .linear = "x",
    .through = true,
    .decompose = &decomposition::tile,
};

TN_DECOMPOSE(tile) { out[0] = repeated(in.frame(), in.tensor(arg::x), in.ints(arg::repeats)); }

TN_OP(one_hot) = {
    .schema = "(Tensor index, int classes) -> Tensor",
    .gives = "1 at the class of each index, else 0, along a new last dimension.",
    .example = "tenon.one_hot(t([0, 2]), 3)",
    .dtypes = "the index is an integer; i64",
    .shapes = "The shape of index, then classes",
    .decompose = &decomposition::one_hot,
};

// 1 at the class, 0 elsewhere; scatter checks that the class exists
TN_DECOMPOSE(one_hot) {
  const Tensor index = in.tensor(arg::index);
  const int64_t classes = in.integer(arg::classes);
  require_dtype(in.frame(), arg::index, TN_MASK_INT, "an integer dtype");
  in.frame().require(classes >= 0, "{} classes", classes);
  std::vector<int64_t> shape(index.shape().begin(), index.shape().end());
  shape.push_back(classes);
  const Tensor at = unsqueeze(index, -1);
  out[0] = put(detail::op_scatter, full(shape, 0, DType::I64, index.device()), int64_t{-1}, at,
               full(at.shape(), 1, DType::I64, index.device()));
}
