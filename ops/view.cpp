// Views: metadata only.
// The result shares storage with the argument, except that reshape, flatten and as_strided copy if no strides can express it. The
// gradient goes back to the elements that the view shows.
#include <algorithm>
#include <limits>
#include <optional>

#include "dispatch/call.hpp"
#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

Ref contiguous_copy(tn_tensor& x) {
  static const tn_op& op = builtin("contiguous");
  const Without quiet(TN_MODE_GRAD);
  const tn_value arg = tensor_value(&x);
  return call_one(op, &arg, 1);
}

tn_tensor* with_dims(const tn_tensor& x, const Dims& shape, const Dims& strides,
                     int64_t offset = 0) {
  return make_view(x, shape, strides, offset);
}

Dims strides_of(const tn_tensor& x) { return Dims(std::span(x.strides(), x.ndim())); }

// Sizes and strides of the dimensions for which `keep` is true.
template <class Keep>
void kept_dims(const tn_tensor& x, Keep&& keep, Dims& shape, Dims& strides) {
  for (uint32_t d = 0; d < x.ndim(); ++d) {
    if (!keep(d)) continue;
    shape.push(x.shape()[d]);
    strides.push(x.strides()[d]);
  }
}

// Strides that give `x` the shape `shape` over the same elements; false if there are none. Walks both shapes from the back and matches
// runs of dimensions of x that have no gaps.
bool strides_for(const tn_tensor& x, const Dims& shape, Dims& strides) {
  if (x.contiguous() || x.numel == 0) {
    strides = contiguous_strides(shape);
    return true;
  }
  strides = shape;
  auto to = static_cast<int64_t>(shape.size()) - 1;
  int64_t run = 1;  // elements in the current run of x
  for (auto from = static_cast<int64_t>(x.ndim()) - 1, last = from; from >= 0; --from) {
    run *= x.shape()[from];
    const int64_t base = x.strides()[last];
    const bool joins =
        from > 0 && (x.shape()[from - 1] == 1 || x.strides()[from - 1] == base * run);
    if (joins) continue;
    int64_t covered = 1;
    while (to >= 0 && (covered < run || shape[to] == 1)) {
      strides[to] = base * covered;
      covered *= shape[to--];
    }
    if (covered != run) return false;
    run = 1;
    last = from - 1;
  }
  for (; to >= 0; --to) strides[to] = 1;
  return true;
}

tn_tensor* reshaped(tn_tensor& x, const Dims& shape) {
  Dims strides;
  if (strides_for(x, shape, strides)) return with_dims(x, shape, strides);
  const Ref copy = contiguous_copy(x);
  return with_dims(*copy, shape, contiguous_strides(shape));
}

// Fills in the one size given as -1.
Dims complete_shape(const Frame& frame, const tn_tensor& x, std::span<const int64_t> wanted) {
  frame.require(wanted.size() <= TN_MAX_DIMS, "{} dims are more than {}", wanted.size(),
                TN_MAX_DIMS);
  Dims shape(wanted);
  int64_t known = 1;
  int unknown = -1;
  for (uint32_t d = 0; d < shape.n; ++d) {
    if (shape[d] == -1) {
      frame.require(unknown < 0, "shape {} has more than one -1", format_shape(wanted));
      unknown = static_cast<int>(d);
    } else {
      frame.require(shape[d] >= 0, "shape {} has a negative size", format_shape(wanted));
      frame.require(!__builtin_mul_overflow(known, shape[d], &known), "shape {} is too large",
                    format_shape(wanted));
    }
  }
  if (unknown >= 0 && known > 0) {
    shape[unknown] = x.numel / known;
    known *= shape[unknown];
  } else if (unknown >= 0) {
    frame.fail(TN_INVALID_ARGUMENT,
               "the -1 in {} could be any size, as the other sizes hold no element",
               format_shape(wanted));
  }
  frame.require(known == x.numel, "a tensor of shape {} ({} elements) cannot have shape {}",
                format_shape(x.sizes()), x.numel, format_shape(wanted));
  return shape;
}

}  // namespace

TN_OP(reshape) = {
    .schema = "(Tensor x, int[] shape) -> Tensor",
    .gives =
        "The same elements in another shape, where -1 stands for the remaining size. A view if "
        "strides allow it.",
    .example = "tenon.reshape(t([1., 2., 3., 4.]), 2, -1)",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::reshape,
    .view = &view::reshape,
};

TN_VIEW(reshape) { return reshaped(self, complete_shape(frame, self, frame.ints(arg::shape))); }

// the old shape
TN_GRADIENT(reshape, {}) { c.set(arg::x, reshape(c.grad(), c.shape(arg::x))); }

TN_OP(permute) = {
    .schema = "(Tensor x, int[] dims) -> Tensor",
    .gives = "The dimensions in another order; a view.",
    .example = "tenon.permute(tenon.zeros(2, 3, 4), 2, 0, 1).shape",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::permute,
    .view = &view::permute,
};

TN_VIEW(permute) {
  const auto dims = frame.ints(arg::dims);
  frame.require(dims.size() == self.ndim(), "{} dims given for a tensor of rank {}", dims.size(),
                self.ndim());
  Dims shape, strides;
  uint32_t seen = 0;
  for (const int64_t dim : dims) {
    const uint32_t d = wrap_dim(frame, dim, self.ndim());
    frame.require((seen & (1u << d)) == 0, "dim {} is given twice", dim);
    seen |= 1u << d;
    shape.push(self.shape()[d]);
    strides.push(self.strides()[d]);
  }
  return with_dims(self, shape, strides);
}

// the inverse permutation
TN_GRADIENT(permute, {}) {
  const auto dims = c.ints(arg::dims);
  Sizes inverse(dims);
  for (size_t d = 0; d < dims.size(); ++d) inverse[wrapped(dims[d], dims.size())] = d;
  c.set(arg::x, permute(c.grad(), inverse));
}

TN_OP(transpose) = {
    .schema = "(Tensor x, int dim0, int dim1) -> Tensor",
    .gives = "Two dimensions exchanged; a view.",
    .example = "tenon.transpose(t([[1., 2.], [3., 4.]]), 0, 1)",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::transpose,
    .view = &view::transpose,
};

TN_VIEW(transpose) {
  const uint32_t a = wrap_dim(frame, frame.integer(arg::dim0), self.ndim());
  const uint32_t b = wrap_dim(frame, frame.integer(arg::dim1), self.ndim());
  Dims shape(self.sizes()), strides = strides_of(self);
  if (self.ndim() > 0) {
    std::swap(shape[a], shape[b]);
    std::swap(strides[a], strides[b]);
  }
  return with_dims(self, shape, strides);
}

// its own inverse
TN_GRADIENT(transpose, {}) {
  c.set(arg::x, transpose(c.grad(), c.integer(arg::dim0), c.integer(arg::dim1)));
}

TN_OP(expand) = {
    .schema = "(Tensor x, int[] shape) -> Tensor",
    .gives = "Dimensions of size 1 repeated without a copy; -1 keeps a size.",
    .example = "tenon.expand(t([[1.], [2.]]), 2, 3)",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::expand,
    .view = &view::expand,
};

TN_VIEW(expand) {
  const auto wanted = frame.ints(arg::shape);
  frame.require(wanted.size() >= self.ndim() && wanted.size() <= TN_MAX_DIMS,
                "shape {} does not expand to {}", format_shape(self.sizes()), format_shape(wanted));
  const size_t added = wanted.size() - self.ndim();
  Dims shape, strides;
  for (size_t d = 0; d < wanted.size(); ++d) {
    const bool fresh = d < added;
    const int64_t have = fresh ? 1 : self.shape()[d - added];
    const int64_t size = !fresh && wanted[d] == -1 ? have : wanted[d];
    frame.require(size >= 0 && (size == have || have == 1), "shape {} does not expand to {}",
                  format_shape(self.sizes()), format_shape(wanted));
    shape.push(size);
    strides.push(fresh || (have == 1 && size != 1) ? 0 : self.strides()[d - added]);
  }
  count_elements(shape);  // throws if there are too many
  return with_dims(self, shape, strides);
}

// g summed over the new elements, which the engine does
TN_GRADIENT(expand, {}) { c.set(arg::x, c.grad()); }

TN_OP(squeeze) = {
    .schema = "(Tensor x, int[]? dims=none) -> Tensor",
    .gives = "x without its dimensions of size 1, all or those named.",
    .example = "tenon.squeeze(tenon.zeros(1, 3, 1)).shape",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::reshape,
    .view = &view::squeeze,
};

TN_VIEW(squeeze) {
  const bool named = frame.has(arg::dims);
  const uint32_t mask = dim_mask(frame, arg::dims, self.ndim());
  Dims shape, strides;
  const auto stays = [&](uint32_t d) {
    const bool meant = (mask >> d & 1u) != 0, drop = meant && self.shape()[d] == 1;
    frame.require(drop || !named || !meant, "dim {} has size {}, not 1", d, self.shape()[d]);
    return !drop;
  };
  kept_dims(self, stays, shape, strides);
  return with_dims(self, shape, strides);
}

TN_OP(unsqueeze) = {
    .schema = "(Tensor x, int dim) -> Tensor",
    .gives = "x with a new dimension of size 1 at dim.",
    .example = "tenon.unsqueeze(t([1., 2.]), 1)",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::reshape,
    .view = &view::unsqueeze,
};

TN_VIEW(unsqueeze) {
  frame.require(self.ndim() < TN_MAX_DIMS, "a tensor has at most {} dims", TN_MAX_DIMS);
  const uint32_t at = wrap_dim(frame, frame.integer(arg::dim), self.ndim() + 1);
  Dims shape, strides;
  for (uint32_t d = 0; d <= self.ndim(); ++d) {
    if (d == at) {
      shape.push(1);
      strides.push(d < self.ndim() ? self.shape()[d] * self.strides()[d] : 1);
    }
    if (d == self.ndim()) break;
    shape.push(self.shape()[d]);
    strides.push(self.strides()[d]);
  }
  return with_dims(self, shape, strides);
}

TN_OP(flatten) = {
    .schema = "(Tensor x, int start=0, int end=-1) -> Tensor",
    .gives = "The dimensions from start to end merged into one.",
    .example = "tenon.flatten(tenon.zeros(2, 3, 4), 1).shape",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::reshape,
    .view = &view::flatten,
};

TN_VIEW(flatten) {
  if (self.ndim() == 0) {
    const int64_t one[] = {1};
    return with_dims(self, Dims(one), Dims(one));
  }
  const uint32_t start = wrap_dim(frame, frame.integer(arg::start), self.ndim());
  const uint32_t end = wrap_dim(frame, frame.integer(arg::end), self.ndim());
  frame.require(start <= end, "start {} is after end {}", start, end);
  Dims shape(self.sizes().first(start + 1));
  for (uint32_t d = start + 1; d < self.ndim(); ++d)
    d <= end ? static_cast<void>(shape[start] *= self.shape()[d]) : shape.push(self.shape()[d]);
  return reshaped(self, shape);
}

TN_OP(slice) = {
    .schema = "(Tensor x, int dim, int? start=none, int? end=none, int step=1) -> Tensor",
    .gives = "start:end:step along a dimension; a view.",
    .example = "tenon.slice(t([1., 2., 3., 4.]), 0, 1, 4, 2)",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::slice,
    .view = &view::slice,
};

// Python's rules: negative bounds count from the end, then bounds are clamped to the dimension; a negative step walks backwards.
TN_VIEW(slice) {
  const uint32_t d = wrap_dim(frame, frame.integer(arg::dim), self.ndim());
  frame.require(self.ndim() > 0, "a tensor of rank 0 has nothing to slice");
  const int64_t n = self.shape()[d], step = frame.integer(arg::step);
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 4;
  frame.require(step != 0 && step > -kFar && step < kFar, "step {}", step);
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto bound = [&](uint32_t i, int64_t otherwise) {
    if (!frame.has(i)) return otherwise;
    const int64_t at = frame.integer(i);
    return std::clamp(at < 0 ? at + n : at, low, high);
  };
  const int64_t start = bound(arg::start, step > 0 ? low : high),
                end = bound(arg::end, step > 0 ? high : low);
  const int64_t span = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
  const int64_t count = span > 0 ? (span - 1) / stride + 1 : 0;
  Dims shape(self.sizes()), strides = strides_of(self);
  const int64_t offset = count > 0 ? start * strides[d] : 0;
  shape[d] = count;
  if (count > 1) strides[d] *= step;
  return with_dims(self, shape, strides, offset);
}

// g in the slice, 0 elsewhere
TN_GRADIENT(slice, {}) {
  const Tensor g = c.grad();
  const auto shape = c.shape(arg::x);
  const int64_t dim = wrapped(c.integer(arg::dim), shape.size()), n = shape[dim],
                step = c.integer(arg::step);
  const int64_t count = c.result_shape()[dim];
  const auto bound = [&](uint32_t i) {
    return c.has(i) ? std::optional(c.integer(i)) : std::nullopt;
  };
  if (add_part(c, arg::x, [&](const Tensor& x) {
        return slice(x, dim, bound(arg::start), bound(arg::end), step);
      }))
    return;
  if (step > 0)
    return c.set(arg::x, put(detail::op_slice_scatter, zeros(shape, g), g, dim, bound(arg::start),
                             bound(arg::end), step));
  if (count == 0) return;
  // Walks backwards from `first`: the same elements taken forwards, then reversed.
  const int64_t start = bound(arg::start).value_or(n - 1);
  const int64_t first = std::min(start < 0 ? start + n : start, n - 1),
                last = first + (count - 1) * step;
  c.set(arg::x,
        put(detail::op_slice_scatter, zeros(shape, g), flip(g, dim), dim, last, first + 1, -step));
}

TN_OP(select) = {
    .schema = "(Tensor x, int dim, int index) -> Tensor",
    .gives = "One entry along a dimension, which is dropped; a view.",
    .example = "tenon.select(t([[1., 2.], [3., 4.]]), 1, 0)",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::select,
    .view = &view::select,
};

TN_VIEW(select) {
  frame.require(self.ndim() > 0, "a tensor of rank 0 has nothing to select");
  const uint32_t at = wrap_dim(frame, frame.integer(arg::dim), self.ndim());
  const int64_t n = self.shape()[at], wanted = frame.integer(arg::index);
  const int64_t index = wanted < 0 ? wanted + n : wanted;
  if (index < 0 || index >= n)
    frame.fail(TN_OUT_OF_RANGE, "index {} out of range for dim {} of size {}", wanted, at, n);
  Dims shape, strides;
  kept_dims(
      self, [&](uint32_t d) { return d != at; }, shape, strides);
  return with_dims(self, shape, strides, index * self.strides()[at]);
}

// g at the index, 0 elsewhere
TN_GRADIENT(select, {}) {
  const Tensor g = c.grad();
  const auto shape = c.shape(arg::x);
  const int64_t dim = wrapped(c.integer(arg::dim), shape.size()),
                at = wrapped(c.integer(arg::index), shape[dim]);
  if (add_part(c, arg::x, [&](const Tensor& x) { return select(x, dim, at); })) return;
  c.set(arg::x, put(detail::op_slice_scatter, zeros(shape, g), unsqueeze(g, dim), dim, at, at + 1));
}

TN_OP(flip) = {
    .schema = "(Tensor x, int[]? dims=none) -> Tensor",
    .gives = "The order of elements reversed along dimensions; a view.",
    .example = "tenon.flip(t([1., 2., 3.]))",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::flip,
    .view = &view::flip,
};

TN_VIEW(flip) {
  const uint32_t mask = dim_mask(frame, arg::dims, self.ndim());
  Dims strides = strides_of(self);
  int64_t offset = 0;
  for (uint32_t d = 0; d < self.ndim(); ++d) {
    if ((mask >> d & 1u) == 0 || self.shape()[d] < 2) continue;
    offset += (self.shape()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return with_dims(self, Dims(self.sizes()), strides, self.numel == 0 ? 0 : offset);
}

// its own inverse
TN_GRADIENT(flip, {}) {
  c.set(arg::x, c.has(arg::dims) ? flip(c.grad(), c.ints(arg::dims)) : flip(c.grad()));
}

TN_OP(diagonal) = {
    .schema = "(Tensor x, int offset=0, int dim0=0, int dim1=1) -> Tensor",
    .gives = "A diagonal of two dimensions as a new last one; a view.",
    .example = "tenon.diagonal(t([[1., 2.], [3., 4.]]))",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::diagonal,
    .view = &view::diagonal,
};

TN_VIEW(diagonal) {
  frame.require(self.ndim() >= 2, "rank 2 or more is needed, not {}", self.ndim());
  const int64_t k = frame.integer(arg::offset);
  const uint32_t a = wrap_dim(frame, frame.integer(arg::dim0), self.ndim());
  const uint32_t b = wrap_dim(frame, frame.integer(arg::dim1), self.ndim());
  frame.require(a != b, "dim0 and dim1 are both {}", a);
  const int64_t rows = self.shape()[a], cols = self.shape()[b];
  int64_t count = 0;  // compares before subtracting, because k may be any number
  if (k >= 0 && k < cols) count = std::min(rows, cols - k);
  if (k < 0 && k > -rows) count = std::min(rows + k, cols);
  Dims shape, strides;
  kept_dims(
      self, [&](uint32_t d) { return d != a && d != b; }, shape, strides);
  shape.push(count);
  strides.push(self.strides()[a] + self.strides()[b]);
  const int64_t offset = count == 0 ? 0 : k >= 0 ? k * self.strides()[b] : -k * self.strides()[a];
  return with_dims(self, shape, strides, offset);
}

static Sizes row_major(std::span<const int64_t> shape) {
  Sizes strides(shape);
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d]) strides[d] = step;
  return strides;
}

// g on the diagonal, 0 elsewhere
TN_GRADIENT(diagonal, {}) {
  const Tensor g = c.grad();
  const auto shape = c.shape(arg::x);
  const Sizes strides = row_major(shape);
  const int64_t k = c.integer(arg::offset);
  const size_t a = wrapped(c.integer(arg::dim0), shape.size()),
               b = wrapped(c.integer(arg::dim1), shape.size());
  if (g.numel() == 0) return;
  const auto same = [&](const Tensor& x) { return diagonal(x, k, a, b); };
  if (add_part(c, arg::x, same)) return;
  Sizes kept;
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != a && d != b) kept.push(strides[d]);
  kept.push(strides[a] + strides[b]);
  const int64_t offset = k >= 0 ? k * strides[b] : -k * strides[a];
  c.set(arg::x, put(detail::op_as_strided_scatter, zeros(shape, g), g, IntList(g.shape()),
                    IntList(kept), offset));
}

TN_OP(as_strided) = {
    .schema = "(Tensor x, int[] shape, int[] strides, int offset=0) -> Tensor",
    .gives = "A view with any strides over the elements of x, counted row-major.",
    .example = "tenon.as_strided(t([1., 2., 3., 4.]), (2, 2), (1, 2))",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .gradient = &gradient::as_strided,
    .view = &view::as_strided,
};

// Strides and offset count x's elements in row-major order, so the result does not depend on x's layout in memory.
TN_VIEW(as_strided) {
  const auto shape = frame.ints(arg::shape), strides = frame.ints(arg::strides);
  const int64_t offset = frame.integer(arg::offset);
  frame.require(shape.size() == strides.size() && shape.size() <= TN_MAX_DIMS,
                "{} sizes and {} strides", shape.size(), strides.size());
  int64_t count = 1;
  for (const int64_t size : shape) {
    frame.require(size >= 0, "shape {} has a negative size", format_shape(shape));
    frame.require(!__builtin_mul_overflow(count, size, &count), "shape {} is too large",
                  format_shape(shape));
  }
  const bool empty = count == 0;
  __int128 low = offset, high = offset;
  for (size_t d = 0; d < shape.size(); ++d) {
    const __int128 reach = static_cast<__int128>(shape[d] - 1) * strides[d];
    (reach < 0 ? low : high) += reach;
  }
  if (!empty && (low < 0 || high >= self.numel))
    frame.fail(
        TN_OUT_OF_RANGE,
        "shape {} with strides {} and offset {} reaches outside the {} elements of the tensor",
        format_shape(shape), format_shape(strides), offset, self.numel);
  const int64_t start = empty ? 0 : offset;
  if (self.contiguous()) return with_dims(self, Dims(shape), Dims(strides), start);
  const Ref copy = contiguous_copy(self);
  return with_dims(*copy, Dims(shape), Dims(strides), start);
}

// Whether two index tuples reach the same element.
static bool overlaps(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  std::pair<int64_t, int64_t> dims[TN_MAX_DIMS];  // (stride, size)
  size_t n = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) dims[n++] = {std::abs(strides[d]), shape[d]};
  std::sort(dims, dims + n);
  int64_t reach = 0;
  for (size_t d = 0; d < n; ++d) {
    if (dims[d].first <= reach) return true;
    reach += dims[d].first * (dims[d].second - 1);
  }
  return false;
}

// Adds g to the elements of x that the strides reach, one entry at a time along the one dimension whose entries overlap. False if there
// is no such dimension, or if it has too many entries.
static bool add_entries(GradCall& c, uint32_t arg, std::span<const int64_t> shape,
                        std::span<const int64_t> strides, int64_t offset) {
  constexpr int64_t kFew = 64;
  const Tensor g = c.grad();
  int best = -1;
  Sizes kept_shape, kept_strides;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > kFew || (best >= 0 && shape[d] >= shape[static_cast<size_t>(best)])) continue;
    Sizes sizes, steps;
    for (size_t e = 0; e < shape.size(); ++e)
      if (e != d) sizes.push(shape[e]), steps.push(strides[e]);
    if (overlaps(sizes, steps)) continue;
    best = static_cast<int>(d);
    kept_shape = sizes;
    kept_strides = steps;
  }
  if (best < 0 || !may_write()) return false;
  const Tensor sum = zeros(c.shape(arg), g);
  for (int64_t i = 0; i < shape[static_cast<size_t>(best)]; ++i) {
    Tensor part =
        as_strided(sum, kept_shape, kept_strides, offset + i * strides[static_cast<size_t>(best)]);
    part += select(g, best, i);
  }
  c.set(arg, sum);
  return true;
}

// g where the view reaches, summed where it reaches an element more than once
TN_GRADIENT(as_strided, {}) {
  const Tensor g = c.grad();
  const auto shape = c.shape(arg::x);
  if (g.numel() == 0) return;
  if (!overlaps(c.ints(arg::shape), c.ints(arg::strides)))
    return c.set(arg::x,
                 put(detail::op_as_strided_scatter, zeros(shape, g), g, IntList(c.ints(arg::shape)),
                     IntList(c.ints(arg::strides)), c.integer(arg::offset)));
  if (add_entries(c, arg::x, c.ints(arg::shape), c.ints(arg::strides), c.integer(arg::offset)))
    return;
  const int64_t n = product(shape);
  const Tensor places = arange(0, n, 1, DType::I64, g.device());
  const Tensor index = reshape(
      as_strided(places, c.ints(arg::shape), c.ints(arg::strides), c.integer(arg::offset)), -1);
  c.set(arg::x, reshape(put(detail::op_scatter_add, zeros(n, g), int64_t{0}, index, reshape(g, -1)),
                        shape));
}

TN_OP(alias) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "The same elements under another handle.",
    .example = "tenon.alias(t([1., 2.]))",
    .dtypes = "any; the result has x's",
    .shapes = "a view of x's memory wherever strides can express it",
    .elementwise = true,
    .gradient = &gradient::identity,
    .view = &view::alias,
};

TN_VIEW(alias) { return with_dims(self, Dims(self.sizes()), strides_of(self)); }
