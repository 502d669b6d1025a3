// Indexing, joining and repeating.
#include "composite/composite.hpp"

// elements of flat x
TN_DECOMPOSE(take) {
  const Tensor x = in.tensor(0), index = in.tensor(1);
  out[0] =
      reshape(index_select(reshape(x, x.numel()), 0, reshape(index, index.numel())), index.shape());
}

TN_DECOMPOSE(stack) {
  std::vector<Tensor> xs = in.tensors(0);
  in.frame().require(!xs.empty(), "no tensors to stack");
  const uint32_t dim = in.frame().wrap_dim(in.integer(1), static_cast<uint32_t>(xs[0].ndim()) + 1);
  const std::vector<int64_t> first(xs[0].shape().begin(), xs[0].shape().end());
  for (size_t k = 0; k < xs.size(); ++k) {
    in.frame().require(std::ranges::equal(xs[k].shape(), first),
                       "tensor {} has shape {}, the first has {}", k, format_shape(xs[k].shape()),
                       format_shape(first));
    xs[k] = unsqueeze(xs[k], dim);
  }
  out[0] = concat(xs, dim);
}

// Every dimension d of x (filled up in front) repeated times[d] times, as (times, size) expanded
// and merged.
static Tensor repeated(const Frame& frame, const Tensor& x, std::span<const int64_t> repeats) {
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
  return reshape(expand(reshape(x, split), wide), merged);
}

TN_DECOMPOSE(repeat) {
  const Tensor x = in.tensor(0);
  in.frame().require(in.ints(1).size() >= static_cast<size_t>(x.ndim()),
                     "{} repeats for a tensor of rank {}", in.ints(1).size(), x.ndim());
  out[0] = repeated(in.frame(), x, in.ints(1));
}

TN_DECOMPOSE(tile) { out[0] = repeated(in.frame(), in.tensor(0), in.ints(1)); }

// 1 at the class, 0 elsewhere; scatter checks that the class exists
TN_DECOMPOSE(one_hot) {
  const Tensor index = in.tensor(0);
  const int64_t classes = in.integer(1);
  in.frame().require_dtype(0, TN_MASK_INT, "an integer dtype");
  in.frame().require(classes >= 0, "{} classes", classes);
  std::vector<int64_t> shape(index.shape().begin(), index.shape().end());
  shape.push_back(classes);
  const Tensor at = unsqueeze(index, -1);
  out[0] = scatter(full(shape, 0, DType::I64, index.device()), -1, at,
                   full(at.shape(), 1, DType::I64, index.device()));
}

// a copy of x, then src written into the part
TN_DECOMPOSE(slice_scatter) {
  const Tensor x = in.tensor(0), copy = clone(x);
  slice(copy, in.integer(2), in.integer_or_none(3), in.integer_or_none(4), in.integer(5))
      .copy_(in.tensor(1));
  out[0] = copy;
}

TN_DECOMPOSE(as_strided_scatter) {
  const Tensor copy = contiguous(clone(in.tensor(0)));
  as_strided(copy, in.ints(2), in.ints(3), in.integer(4)).copy_(in.tensor(1));
  out[0] = copy;
}

// rows of weight
TN_DECOMPOSE(embedding) {
  const Tensor weight = in.tensor(0), index = in.tensor(1);
  std::vector<int64_t> shape(index.shape().begin(), index.shape().end());
  shape.push_back(weight.shape(1));
  out[0] = reshape(index_select(weight, 0, reshape(index, index.numel())), shape);
}
