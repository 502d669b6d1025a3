#include "block_offsets.hpp"

#include <algorithm>

#include "../common/advanced_index.hpp"

namespace tenon::cpu {
namespace {

// The positions where a mask is true, in row-major order.
std::vector<int64_t> set_positions(const tn_view& mask) {
  // Any byte but 0 is true, and what a shared mask holds is read once.
  const uint8_t* const set = data_of<const uint8_t>(mask);
  std::vector<int64_t> found;
  for (int64_t i = 0, total = numel(mask); i < total; ++i)
    if (set[i] != 0) found.push_back(i);
  return found;
}

std::vector<int64_t> checked(const char* op, const IndexAxis& axis) {
  const int64_t count = numel(*axis.index), size = axis.size;
  std::vector<int64_t> values;
  values.reserve(static_cast<size_t>(count));
  visit_dtype<TN_MASK_INT>(axis.index->dtype, [&]<class T>(Tag<T>) {
    const T* const from = data_of<const T>(*axis.index);
    for (int64_t i = 0; i < count; ++i) {
      const bool beyond =
          from[i] > T(0) && static_cast<uint64_t>(from[i]) >= static_cast<uint64_t>(size);
      const int64_t at = beyond ? size : wrapped(static_cast<int64_t>(from[i]), size);
      if (at < 0 || at >= size)
        fail(TN_OUT_OF_RANGE, "[", op, "] index ", from[i], " at position ", i,
             " out of range for dimension ", axis.dim, " of size ", size);
      values.push_back(at);
    }
  });
  return values;
}

// Adds step·value of an axis at every position of the broadcast shape.
void add_axis(const IndexAxis& axis, const std::vector<int64_t>& values, int64_t step,
              const std::vector<int64_t>& positions, std::vector<int64_t>& offsets) {
  const int64_t* const shape = axis.is_mask() ? &axis.set : axis.index->shape;
  const size_t ndim = axis.is_mask() ? 1 : axis.index->ndim, skip = positions.size() - ndim;
  const bool same = values.size() == offsets.size();
  for (size_t i = 0; i < offsets.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), at = 0, size = 1;
    if (same) {
      at = rest;
    } else {
      for (size_t d = positions.size(); d-- > skip; rest /= positions[d]) {
        if (shape[d - skip] != 1) at += rest % positions[d] * size;
        size *= shape[d - skip];
      }
    }
    offsets[i] += values[static_cast<size_t>(at)] * step;
  }
}

// Offsets of all combinations of some kept dimensions.
std::vector<int64_t> spread(const std::vector<KeptDim>& kept, int64_t inner) {
  std::vector<int64_t> offsets{0};
  for (const KeptDim& k : kept) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(k.size));
    for (const int64_t offset : offsets)
      for (int64_t i = 0; i < k.size; ++i) next.push_back(offset + i * k.step * inner);
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace

BlockOffsets block_offsets(const char* op, const tn_view& x, const tn_value& indices) {
  AdvancedIndex index(x, indices);
  std::vector<std::vector<int64_t>> values;
  for (IndexAxis& axis : index.axes) {
    values.push_back(axis.is_mask() ? set_positions(*axis.index) : checked(op, axis));
    axis.set = static_cast<int64_t>(values.back().size());
  }
  if (index.has_mask) index.broadcast(op);
  BlockOffsets out{spread(index.before, index.inner),
                   {},
                   spread(index.mid, index.inner),
                   index.inner,
                   index.shape,
                   index.has_mask};
  out.at.assign(static_cast<size_t>(index.places()), 0);
  for (size_t k = 0; k < values.size(); ++k)
    add_axis(index.axes[k], values[k], index.axes[k].step * index.inner, index.positions, out.at);
  return out;
}

}  // namespace tenon::cpu
