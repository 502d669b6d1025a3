// Indexing, joining and rolling. Indices are read as i64; kernels check their values before they
// write anything.
#include "shape/operands.hpp"

using namespace tenon::core;

namespace {

uint32_t fix_dim(Frame& frame, uint32_t arg, uint32_t rank) {
  const uint32_t dim = frame.wrap_dim(frame.integer(arg), rank);
  frame.set_integer(arg, dim);
  return dim;
}

// What (x, dim, index, …) have in common; `dim` comes back wrapped.
struct IndexedDim {
  tn_tensor &x, &index;
  uint32_t dim;
  explicit IndexedDim(Frame& frame)
      : x(operand(frame, 0)), index(index_operand(frame, 2)), dim(fix_dim(frame, 1, x.ndim())) {
    frame.raise(0);
    frame.raise(2);
  }
  // x's sizes, with as many places along dim as the index, a vector, has elements.
  Dims selected(const Frame& frame) const {
    frame.require_rank(2, 0, 1);
    Dims shape(x.sizes());
    if (shape.n != 0)
      shape[dim] = index.numel;
    else
      frame.require(index.numel == 1, "{} indices into a tensor of rank 0, which takes one",
                    index.numel);
    return shape;
  }
};

// Sizes along which an op works: those of rank 0 are (1,).
std::span<const int64_t> raised(std::span<const int64_t> sizes) {
  static constexpr int64_t kOne = 1;
  return sizes.empty() ? std::span(&kOne, 1) : sizes;
}

// A source of values takes the dtype of what it is put into.
void take_dtype(Frame& frame, uint32_t i, tn_dtype dtype) {
  if (!frame.is_tensor(i) || frame.tensor(i).dtype() != dtype) frame.cast(i, dtype);
}

// index is not larger than `other` but along `dim`.
void require_within(const Frame& frame, const tn_tensor& index, std::span<const int64_t> other,
                    int64_t dim, std::string_view what) {
  const auto have = raised(index.sizes()), room = raised(other);
  bool fits = have.size() == room.size();
  for (uint32_t d = 0; fits && d < have.size(); ++d) fits = d == dim || have[d] <= room[d];
  frame.require(fits, "index {} reaches beyond {} {}", format_shape(index.sizes()), what,
                format_shape(other));
}

struct Advanced {
  Dims shape;            // of the result; without the masks' sizes when dynamic
  bool dynamic = false;  // a mask decides the shape
};

// NumPy's rules: index tensors broadcast to one shape, which stands where they do, or first when a
// slice parts them.
Advanced advanced_shape(const Frame& frame, const tn_tensor& x,
                        std::span<tn_tensor* const> indices) {
  Advanced out;
  Dims broadcast;
  uint32_t dim = 0, runs = 0, place = 0;
  bool inside = false, any = false;
  Dims kept;
  for (tn_tensor* index : indices) {
    const bool mask = index != nullptr && index->dtype() == TN_DTYPE_BOOL;
    const uint32_t consumed = mask ? index->ndim() : 1;
    frame.require(dim + consumed <= x.ndim(), "too many indices for a tensor of rank {}", x.ndim());
    if (index == nullptr) {
      kept.push(x.shape()[dim++]);
      inside = false;
      continue;
    }
    if (!inside && runs++ == 0) place = kept.n;
    inside = any = true;
    if (mask) {
      frame.require(same_shape(index->sizes(), x.sizes().subspan(dim, consumed)),
                    "mask {} does not have the shape of dimensions {} to {} of {}",
                    format_shape(index->sizes()), dim, dim + consumed, format_shape(x.sizes()));
      out.dynamic = true;
    } else {
      frame.require(is_integral(index->dtype()),
                    "an index must be an integer or bool tensor, got {}",
                    dtype_name(index->dtype()));
      broadcast = broadcast_shapes(frame, broadcast, index->sizes());
    }
    dim += consumed;
  }
  for (; dim < x.ndim(); ++dim) kept.push(x.shape()[dim]);
  if (runs > 1 || !any) place = 0;
  for (uint32_t d = 0; d < place; ++d) out.shape.push(kept[d]);
  for (int64_t size : broadcast) out.shape.push(size);
  for (uint32_t d = place; d < kept.n; ++d) out.shape.push(kept[d]);
  return out;
}

}  // namespace

// gather(x, dim, index)
TN_RULE(gather) {
  const auto [x, index, dim] = IndexedDim(frame);
  require_within(frame, index, x.sizes(), dim, "x");
  frame.result(0, x.dtype(), index.sizes());
}

// scatter(x, dim, index, src), scatter_add; one number may stand for src
TN_RULE(scatter) {
  const auto [x, index, dim] = IndexedDim(frame);
  require_within(frame, index, x.sizes(), dim, "x");
  if (!sizes_of(frame, 3).empty()) require_within(frame, index, sizes_of(frame, 3), -1, "src");
  take_dtype(frame, 3, x.dtype());
  frame.result(0, x.dtype(), x.sizes());
}

// index_select(x, dim, index)
TN_RULE(index_select) {
  const IndexedDim at(frame);
  frame.result(0, at.x.dtype(), at.selected(frame));
}

// index_add(x, dim, index, src)
TN_RULE(index_add) {
  const IndexedDim at(frame);
  const tn_tensor& x = at.x;
  operand(frame, 3);
  require_shape(frame, 3, at.selected(frame));
  frame.raise(3);
  take_dtype(frame, 3, x.dtype());
  frame.result(0, x.dtype(), x.sizes());
}

// index(x, indices)
TN_RULE(index) {
  tn_tensor& x = operand(frame, 0);
  const Advanced out = advanced_shape(frame, x, frame.tensors(1));
  out.dynamic ? frame.dynamic_result(0, x.dtype()) : frame.result(0, x.dtype(), out.shape);
}

// index_put(x, indices, values, accumulate)
TN_RULE(index_put) {
  tn_tensor& x = operand(frame, 0);
  const Advanced out = advanced_shape(frame, x, frame.tensors(1));
  const auto values = sizes_of(frame, 2);
  if (!out.dynamic) {
    const bool fits = same_shape(broadcast_shapes(frame, out.shape, values), out.shape);
    frame.require(fits, "values {} do not broadcast to {}", format_shape(values),
                  format_shape(out.shape));
  }
  take_dtype(frame, 2, x.dtype());
  frame.result(0, x.dtype(), x.sizes());
}

// slice_scatter(x, src, dim, start, end, step), as_strided_scatter(x, src, shape, strides, offset):
// x with src put into a part. Bounds arrive filled in.
TN_RULE(like_first) {
  tn_tensor& x = operand(frame, 0);
  Dims expected;
  if (frame.op().schema.args[2].type == ArgType::Int && !frame.op().schema.args[2].list) {
    const uint32_t dim = fix_dim(frame, 2, x.ndim());
    frame.require(x.ndim() > 0, "a tensor of rank 0 has no slice to write to");
    const int64_t size = x.shape()[dim];
    const int64_t step = frame.integer(5);
    frame.require(step > 0, "step must be positive, got {}", step);
    const auto bound = [&](uint32_t i, int64_t otherwise) {
      int64_t at = frame.has(i) ? frame.integer(i) : otherwise;
      if (at < 0) at += size;
      return std::clamp<int64_t>(at, 0, size);
    };
    const int64_t start = bound(3, 0), end = std::max(start, bound(4, size));
    frame.set_integer(3, start);
    frame.set_integer(4, end);
    expected = Dims(x.sizes());
    expected[dim] = (end - start) / step + ((end - start) % step != 0 ? 1 : 0);
  } else {
    expected = Dims(frame.ints(2));
    frame.require(frame.ints(3).size() == expected.n, "{} strides for {} dimensions",
                  frame.ints(3).size(), expected.n);
    int64_t low = frame.integer(4), high = low;
    for (uint32_t d = 0; d < expected.n; ++d) {
      int64_t reach = 0;
      frame.require(
          !__builtin_mul_overflow(frame.ints(3)[d], std::max<int64_t>(expected[d], 1) - 1,
                                  &reach) &&
              !__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high),
          "strides {} are too large", format_shape(frame.ints(3)));
    }
    frame.require(count_elements(expected) == 0 || (low >= 0 && high < x.numel),
                  "elements {} to {} lie outside a tensor of {} elements", low, high, x.numel);
  }
  require_shape(frame, 1, expected);
  take_dtype(frame, 1, x.dtype());
  frame.result(0, x.dtype(), x.sizes());
}

// embedding(weight, index, padding_idx)
TN_RULE(embedding) {
  tn_tensor& weight = operand(frame, 0);
  frame.require_rank(0, 2, 2);
  tn_tensor& index = index_operand(frame, 1);
  Dims shape(index.sizes());
  shape.push(weight.shape()[1]);
  frame.result(0, weight.dtype(), shape);
}

// embedding_backward(g, index, rows, padding_idx)
TN_RULE(embedding_backward) {
  tn_tensor& g = operand(frame, 0);
  tn_tensor& index = index_operand(frame, 1);
  const bool fits =
      g.ndim() == index.ndim() + 1 && same_shape(g.sizes().first(index.ndim()), index.sizes());
  frame.require(fits, "gradient {} does not have the shape of index {} and a row",
                format_shape(g.sizes()), format_shape(index.sizes()));
  const int64_t rows = frame.integer(2);
  frame.require(rows >= 0, "rows must not be negative, got {}", rows);
  if (frame.has(3) && frame.integer(3) < 0) frame.set_integer(3, frame.integer(3) + rows);
  const int64_t shape[] = {rows, g.shape()[index.ndim()]};
  frame.result(0, g.dtype(), shape);
}

// roll(x, shifts, dims); dims absent: as if flat
TN_RULE(roll) {
  tn_tensor& x = operand(frame, 0);
  frame.raise(0);
  if (frame.has(2)) {
    const auto dims = frame.ints(2);
    frame.require(frame.ints(1).size() == dims.size(), "{} shifts for {} dims",
                  frame.ints(1).size(), dims.size());
    Dims wrapped;
    for (int64_t dim : dims) wrapped.push(frame.wrap_dim(dim, x.ndim()));
    frame.set_ints(2, wrapped);
  } else {
    frame.require(frame.ints(1).size() == 1, "{} shifts without dims; one expected",
                  frame.ints(1).size());
  }
  frame.result(0, x.dtype(), x.sizes());
}

// concat(xs, dim)
TN_RULE(concat) {
  const auto xs = frame.tensors(0);
  frame.require(!xs.empty(), "no tensors to join");
  Dims shape(xs[0]->sizes());
  frame.require(shape.n > 0, "tensors of rank 0 have no dimension to join");
  const uint32_t dim = fix_dim(frame, 1, shape.n);
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
    if (x->dtype() != dtype) frame.cast(0, dtype);
  frame.result(0, dtype, shape);
}
