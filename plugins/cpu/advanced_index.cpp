#include "advanced_index.hpp"

#include <algorithm>

namespace tenon::cpu {
namespace {

// Indices along one dimension of x, of any broadcastable shape.
struct Axis {
  int64_t dim, step;
  std::vector<int64_t> shape, values;
};

// A mask is as many axes as it has dimensions, with the positions of what is set.
void add_mask(const tn_view& mask, int64_t dim, const std::vector<int64_t>& steps,
              std::vector<Axis>& axes) {
  // Any byte but 0 is true, and what a shared mask holds is read once.
  const uint8_t* const set = data_of<const uint8_t>(mask);
  std::vector<int64_t> found;
  for (int64_t i = 0, total = numel(mask); i < total; ++i)
    if (set[i] != 0) found.push_back(i);
  const int64_t count = static_cast<int64_t>(found.size());
  const size_t first = axes.size();
  for (uint32_t d = 0; d < std::max(mask.ndim, 1u); ++d) {
    // A mask of rank 0 chooses all or nothing, along no dimension.
    axes.push_back(
        {dim + d, mask.ndim == 0 ? 0 : steps[static_cast<size_t>(dim + d)], {count}, {}});
    axes.back().values.reserve(static_cast<size_t>(count));
  }
  for (int64_t rest : found) {
    if (mask.ndim == 0) axes[first].values.push_back(0);
    for (uint32_t d = mask.ndim; d-- > 0; rest /= mask.shape[d])
      axes[first + d].values.push_back(rest % mask.shape[d]);
  }
}

void add_integers(const char* op, const tn_view& index, int64_t dim, int64_t size, int64_t step,
                  std::vector<Axis>& axes) {
  Axis axis{dim, step, {index.shape, index.shape + index.ndim}, {}};
  const int64_t count = numel(index);
  visit_dtype<TN_MASK_INT>(index.dtype, [&]<class T>(Tag<T>) {
    const T* const from = data_of<const T>(index);
    for (int64_t i = 0; i < count; ++i) {
      const bool beyond =
          from[i] > T(0) && static_cast<uint64_t>(from[i]) >= static_cast<uint64_t>(size);
      const int64_t at = beyond ? size : wrapped(static_cast<int64_t>(from[i]), size);
      if (at < 0 || at >= size)
        fail(TN_OUT_OF_RANGE, "[", op, "] index ", from[i], " at position ", i,
             " out of range for dimension ", dim, " of size ", size);
      axis.values.push_back(at);
    }
  });
  axes.push_back(std::move(axis));
}

std::vector<int64_t> broadcast_shape(const char* op, const std::vector<Axis>& axes) {
  size_t rank = 0;
  for (const Axis& axis : axes) rank = std::max(rank, axis.shape.size());
  std::vector<int64_t> shape(rank, 1);
  for (const Axis& axis : axes) {
    for (size_t d = 0; d < axis.shape.size(); ++d) {
      int64_t& size = shape[rank - axis.shape.size() + d];
      const int64_t mine = axis.shape[d];
      if (size != mine && size != 1 && mine != 1)
        fail(TN_INVALID_ARGUMENT, "[", op, "] index tensors do not broadcast: ", size, " against ",
             mine, " elements");
      if (size == 1) size = mine;
    }
  }
  return shape;
}

// Σ step·value of the axes at every position of the broadcast shape.
std::vector<int64_t> combine(const std::vector<Axis>& axes, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  std::vector<int64_t> offsets(static_cast<size_t>(count), 0);
  for (const Axis& axis : axes) {
    const size_t skip = shape.size() - axis.shape.size();
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, at = 0, size = 1;
      if (axis.shape == shape) {
        at = i;
      } else {
        for (size_t d = shape.size(); d-- > skip; size *= axis.shape[d - skip], rest /= shape[d]) {
          if (axis.shape[d - skip] != 1) at += rest % shape[d] * size;
        }
      }
      offsets[static_cast<size_t>(i)] += axis.values[static_cast<size_t>(at)] * axis.step;
    }
  }
  return offsets;
}

// Offsets of all combinations of some kept dimensions.
std::vector<int64_t> spread(const std::vector<int64_t>& dims, const tn_view& x,
                            const std::vector<int64_t>& steps) {
  std::vector<int64_t> offsets{0};
  for (int64_t dim : dims) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(x.shape[dim]));
    for (int64_t offset : offsets) {
      for (int64_t i = 0; i < x.shape[dim]; ++i)
        next.push_back(offset + i * steps[static_cast<size_t>(dim)]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace

AdvancedIndex resolve_indices(const char* op, const tn_view& x, const tn_value& indices) {
  std::vector<int64_t> steps(x.ndim);
  int64_t step = 1;
  for (uint32_t d = x.ndim; d-- > 0; step *= x.shape[d]) steps[d] = step;
  std::vector<Axis> axes;
  std::vector<int64_t> before,
      mid;  // kept dimensions; where the result puts them is known at the end
  int64_t dim = 0;
  size_t place = 0;
  int runs = 0;
  bool inside = false;
  for (uint32_t k = 0; k < indices.count; ++k) {
    const tn_view* index = indices.as.views[k];
    if (index == nullptr) {
      before.push_back(dim++);
      inside = false;
      continue;
    }
    if (!inside && runs++ == 0) place = before.size();
    inside = true;
    if (index->dtype == TN_DTYPE_BOOL) {
      add_mask(*index, dim, steps, axes);
      dim += index->ndim;
    } else {
      add_integers(op, *index, dim, x.shape[dim], steps[static_cast<size_t>(dim)], axes);
      ++dim;
    }
  }
  AdvancedIndex out;
  const int64_t after = dim;  // the dimensions from here on lie side by side
  if (runs > 1) place = 0;
  mid.assign(before.begin() + static_cast<int64_t>(place), before.end());
  before.resize(place);
  for (int64_t d : before) out.shape.push_back(x.shape[d]);
  const std::vector<int64_t> shape = broadcast_shape(op, axes);
  out.shape.insert(out.shape.end(), shape.begin(), shape.end());
  for (int64_t d : mid) out.shape.push_back(x.shape[d]);
  for (int64_t d = after; d < x.ndim; ++d) {
    out.shape.push_back(x.shape[d]);
    out.inner *= x.shape[d];
  }
  out.before = spread(before, x, steps);
  out.at = combine(axes, shape);
  out.mid = spread(mid, x, steps);
  return out;
}

}  // namespace tenon::cpu
