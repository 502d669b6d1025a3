// Gradients of views: the gradient goes back to the elements that the view shows.
#include <algorithm>

#include "autograd/grad_tools.hpp"

namespace {

// True when two index tuples reach one element.
bool overlaps(std::span<const int64_t> shape, std::span<const int64_t> strides) {
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

Sizes row_major(std::span<const int64_t> shape) {
  Sizes strides(shape);
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d]) strides[d] = step;
  return strides;
}

}  // namespace

// the old shape
TN_GRADIENT(reshape, {}) { c.set(0, reshape(c.grad(), c.shape(0))); }

// squeeze, unsqueeze, flatten: the old shape
TN_GRADIENT(reshape_back, {}) { c.set(0, reshape(c.grad(), c.shape(0))); }

// the inverse permutation
TN_GRADIENT(permute, {}) {
  const auto dims = c.ints(1);
  Sizes inverse(dims);
  for (size_t d = 0; d < dims.size(); ++d) inverse[wrapped(dims[d], dims.size())] = d;
  c.set(0, permute(c.grad(), inverse));
}

// its own inverse
TN_GRADIENT(transpose, {}) { c.set(0, transpose(c.grad(), c.integer(1), c.integer(2))); }

// the sum over the new elements, which the engine takes
TN_GRADIENT(expand, {}) { c.set(0, c.grad()); }

// g in the slice, 0 elsewhere
TN_GRADIENT(slice, {}) {
  const Tensor g = c.grad();
  const auto shape = c.shape(0);
  const int64_t dim = wrapped(c.integer(1), shape.size()), n = shape[dim], step = c.integer(4);
  const int64_t count = c.result_shape()[dim];
  const auto bound = [&](uint32_t arg) {
    return c.has(arg) ? std::optional(c.integer(arg)) : std::nullopt;
  };
  if (step > 0)
    return c.set(0,
                 put(detail::op_slice_scatter, zeros(shape, g), g, dim, bound(2), bound(3), step));
  if (count == 0) return;
  // Backwards from `first`: the same elements forwards, reversed.
  const int64_t start = bound(2).value_or(n - 1);
  const int64_t first = std::min(start < 0 ? start + n : start, n - 1),
                last = first + (count - 1) * step;
  c.set(0,
        put(detail::op_slice_scatter, zeros(shape, g), flip(g, dim), dim, last, first + 1, -step));
}

// g at the index, 0 elsewhere
TN_GRADIENT(select, {}) {
  const Tensor g = c.grad();
  const auto shape = c.shape(0);
  const int64_t dim = wrapped(c.integer(1), shape.size()), at = wrapped(c.integer(2), shape[dim]);
  c.set(0, put(detail::op_slice_scatter, zeros(shape, g), unsqueeze(g, dim), dim, at, at + 1));
}

// its own inverse
TN_GRADIENT(flip, {}) { c.set(0, c.has(1) ? flip(c.grad(), c.ints(1)) : flip(c.grad())); }

// g on the diagonal, 0 elsewhere
TN_GRADIENT(diagonal, {}) {
  const Tensor g = c.grad();
  const auto shape = c.shape(0);
  const Sizes strides = row_major(shape);
  const int64_t k = c.integer(1);
  const size_t a = wrapped(c.integer(2), shape.size()), b = wrapped(c.integer(3), shape.size());
  if (g.numel() == 0) return;
  Sizes kept;
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != a && d != b) kept.push(strides[d]);
  kept.push(strides[a] + strides[b]);
  const int64_t offset = k >= 0 ? k * strides[b] : -k * strides[a];
  c.set(0, put(detail::op_as_strided_scatter, zeros(shape, g), g, IntList(g.shape()), IntList(kept),
               offset));
}

// g where the view reaches, summed where it reaches more than once
TN_GRADIENT(as_strided, {}) {
  const Tensor g = c.grad();
  const auto shape = c.shape(0);
  if (g.numel() == 0) return;
  if (!overlaps(c.ints(1), c.ints(2)))
    return c.set(0, put(detail::op_as_strided_scatter, zeros(shape, g), g, IntList(c.ints(1)),
                        IntList(c.ints(2)), c.integer(3)));
  const int64_t n = product(shape);
  const Tensor places = arange(0, n, 1, DType::I64, g.device());
  const Tensor index = reshape(as_strided(places, c.ints(1), c.ints(2), c.integer(3)), -1);
  c.set(0, reshape(put(detail::op_scatter_add, zeros(n, g), int64_t{0}, index, reshape(g, -1)),
                   shape));
}
