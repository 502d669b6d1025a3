#include "advanced_index.hpp"

#include <algorithm>

#include "call.hpp"
#include "tenon/barrier.hpp"
#include "tenon/schemas.h"

namespace tenon {
namespace {

int64_t product(const std::vector<KeptDim>& kept) {
  int64_t n = 1;
  for (const KeptDim& k : kept) n *= k.size;
  return n;
}

// Blocks between neighbours along each of the first `dims` dimensions.
std::vector<int64_t> steps_of(const tn_view& x, uint32_t dims) {
  std::vector<int64_t> steps(dims);
  int64_t step = 1;
  for (uint32_t d = dims; d-- > 0; step *= x.shape[d]) steps[d] = step;
  return steps;
}

uint32_t dims_of(const tn_view* index) {
  return index != nullptr && index->dtype == TN_DTYPE_BOOL ? index->ndim : 1;
}

}  // namespace

AdvancedIndex::AdvancedIndex(const tn_view& x, const tn_value& indices) {
  uint32_t covered = 0;
  for (uint32_t k = 0; k < indices.count; ++k) covered += dims_of(indices.as.views[k]);
  const std::vector<int64_t> steps = steps_of(x, covered);
  uint32_t dim = 0, runs = 0;
  size_t place = 0;
  bool inside = false;
  for (uint32_t k = 0; k < indices.count; ++k) {
    const tn_view* index = indices.as.views[k];
    const uint32_t dims = dims_of(index);
    if (index == nullptr) {
      before.push_back({x.shape[dim], steps[dim]});
    } else {
      if (!inside && runs++ == 0) place = before.size();
      // A mask of rank 0 chooses all or nothing, along no dimension.
      IndexAxis axis{index, dim, 1, dims == 0 ? 0 : steps[dim + dims - 1]};
      if (axis.is_mask())
        axis.size = axis.set = numel(*index);
      else
        axis.size = x.shape[dim];
      has_mask |= axis.is_mask();
      axes.push_back(axis);
    }
    inside = index != nullptr;
    dim += dims;
  }
  // If a slice separates index tensors, their shape comes first.
  if (runs != 1) place = 0;
  mid.assign(before.begin() + static_cast<std::ptrdiff_t>(place), before.end());
  before.resize(place);
  tail_.assign(x.shape + dim, x.shape + x.ndim);
  for (const int64_t size : tail_) inner *= size;
  broadcast(nullptr);
}

// Without an op name, the sets of masks are the largest possible ones and need not agree.
void AdvancedIndex::broadcast(const char* op) {
  positions.clear();
  for (const IndexAxis& axis : axes) {
    const int64_t* sizes = axis.is_mask() ? &axis.set : axis.index->shape;
    const size_t ndim = axis.is_mask() ? 1 : axis.index->ndim;
    if (ndim > positions.size()) positions.insert(positions.begin(), ndim - positions.size(), 1);
    for (size_t d = 0; d < ndim; ++d) {
      int64_t& size = positions[positions.size() - ndim + d];
      if (op != nullptr && size != sizes[d] && size != 1 && sizes[d] != 1)
        sdk::fail(TN_INVALID_ARGUMENT, "[", op, "] index tensors do not broadcast: ", size,
                  " against ", sizes[d], " elements");
      size = op == nullptr && has_mask ? std::max(size, sizes[d]) : size == 1 ? sizes[d] : size;
    }
  }
  join_shape();
}

void AdvancedIndex::join_shape() {
  shape.clear();
  for (const KeptDim& k : before) shape.push_back(k.size);
  shape.insert(shape.end(), positions.begin(), positions.end());
  for (const KeptDim& k : mid) shape.push_back(k.size);
  shape.insert(shape.end(), tail_.begin(), tail_.end());
}

int64_t AdvancedIndex::places() const {
  int64_t n = 1;
  for (const int64_t size : positions) n *= size;
  return n;
}
int64_t AdvancedIndex::mids() const { return product(mid); }
int64_t AdvancedIndex::blocks() const { return product(before) * places() * mids(); }

const tn_view* only_mask(const tn_call& call) {
  using arg = tenon::arg::index_put;
  const tn_value& indices = call.args[arg::indices];
  if (indices.count == 0 || numel(input(call, arg::values)) != 1) return nullptr;
  const tn_view* last = indices.as.views[indices.count - 1];
  if (last == nullptr || last->dtype != TN_DTYPE_BOOL) return nullptr;
  const bool alone = std::all_of(indices.as.views, indices.as.views + indices.count - 1,
                                 [](const tn_view* index) { return index == nullptr; });
  return alone ? last : nullptr;
}

int64_t elements_of_mask(const tn_call& call, const tn_view& mask) {
  using arg = tenon::arg::index_put;
  const tn_view& x = input(call, arg::x);
  int64_t n = 1;
  for (uint32_t d = call.args[arg::indices].count - 1 + mask.ndim; d < x.ndim; ++d) n *= x.shape[d];
  return n;
}

}  // namespace tenon
