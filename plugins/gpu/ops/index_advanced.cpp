#include "ops/index_advanced.hpp"

#include <algorithm>

#include "ops/dynamic.hpp"

namespace tenon::gpu {
namespace {

// place[b] (+)= step · index[b]; kNowhere stays kNowhere.
GPU_KERNEL add_places(uint32_t count, Layout<1> layout, IndexList index, IndexCheck check,
                      int64_t step, bool is_first, Ptr<int64_t> places) {
  for (uint32_t b = first_thread(); b < count; b += thread_count()) {
    int64_t from;
    layout.find(b, &from);
    const int64_t at = place_of(check, read_index(index, from), from);
    const int64_t before = is_first ? int64_t{0} : static_cast<int64_t>(places[b]);
    places[b] = at == kNowhere || before == kNowhere ? kNowhere : before + at * step;
  }
}

uint64_t aligned(int64_t bytes) { return (static_cast<uint64_t>(bytes) + 255) / 256 * 256; }

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  return n;
}
int64_t product(const std::vector<Kept>& kept) {
  int64_t n = 1;
  for (const Kept& k : kept) n *= k.size;
  return n;
}

Layout<1> layout_of(const std::vector<Kept>& kept) {
  LoopPart part;
  for (const Kept& k : kept) {
    part.shape[part.ndim] = static_cast<uint32_t>(std::max<int64_t>(k.size, 1));
    part.strides[0][part.ndim++] = k.step;
  }
  return Layout<1>(part);
}

// An axis over the positions.
Layout<1> layout_of(const Axis& axis, const std::vector<int64_t>& positions) {
  LoopPart part;
  part.ndim = static_cast<uint32_t>(positions.size());
  const uint32_t ndim = axis.is_mask() ? 1 : axis.index->ndim, missing = part.ndim - ndim;
  for (uint32_t d = 0; d < part.ndim; ++d) {
    const int64_t size = d < missing      ? 1
                         : axis.is_mask() ? axis.set
                                          : axis.index->shape[d - missing];
    part.shape[d] = static_cast<uint32_t>(positions[d]);
    part.strides[0][d] = size == 1 ? 0 : axis.is_mask() ? 1 : axis.index->strides[d - missing];
  }
  return Layout<1>(part);
}

}  // namespace

AdvancedIndex::AdvancedIndex(const tn_view& x, const tn_value& indices) {
  std::vector<Kept> kept;
  uint32_t dim = 0, runs = 0;
  size_t place = 0;
  bool inside = false;
  for (uint32_t k = 0; k < indices.count; ++k) {
    const tn_view* index = indices.as.views[k];
    if (index != nullptr && !inside && runs++ == 0) place = kept.size();
    inside = index != nullptr;
    if (index == nullptr) {
      kept.push_back({x.shape[dim], dim});
      ++dim;
      continue;
    }
    Axis axis{index, dim, 1, dim};
    if (axis.is_mask()) {
      has_mask = true;
      axis.size = axis.set = numel(*index);
      dim += index->ndim;
    } else {
      axis.size = x.shape[dim++];
    }
    // What the last of its dimensions steps over; a mask of rank 0 has none.
    axis.step = axis.is_mask() && index->ndim == 0 ? -1 : int64_t{dim} - 1;
    axes.push_back(axis);
  }
  // Steps so far are dimensions.
  std::vector<int64_t> steps(x.ndim);
  int64_t step = 1;
  for (uint32_t d = dim; d-- > 0; step *= x.shape[d]) steps[d] = step;
  for (Axis& axis : axes) axis.step = axis.step < 0 ? 0 : steps[static_cast<size_t>(axis.step)];
  for (Kept& k : kept) k.step = steps[static_cast<size_t>(k.step)];
  // If a slice separates index tensors, their shape comes first.
  if (runs != 1) place = 0;
  const auto split = kept.begin() + static_cast<std::ptrdiff_t>(place);
  before.assign(kept.begin(), split);
  mid.assign(split, kept.end());
  for (uint32_t d = dim; d < x.ndim; ++d) {
    inner *= x.shape[d];
    tail_.push_back(x.shape[d]);
  }
  broadcast(nullptr);
}

// Without an op name, assumes the largest possible sizes.
void AdvancedIndex::broadcast(const char* op) {
  positions.clear();
  for (const Axis& axis : axes) {
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
  shape.clear();
  for (const Kept& k : before) shape.push_back(k.size);
  shape.insert(shape.end(), positions.begin(), positions.end());
  for (const Kept& k : mid) shape.push_back(k.size);
  shape.insert(shape.end(), tail_.begin(), tail_.end());
}

int64_t AdvancedIndex::places() const { return product(positions); }
int64_t AdvancedIndex::rows() const { return product(before) * places() * product(mid); }

bool AdvancedIndex::fits() const {
  const bool masks_fit = std::all_of(axes.begin(), axes.end(), [](const Axis& axis) {
    return !axis.is_mask() || numel(*axis.index) < INT32_MAX;
  });
  return masks_fit && places() < INT32_MAX && rows() < INT32_MAX;
}

uint64_t AdvancedIndex::bytes() const {
  uint64_t total = aligned(places() * 8);
  for (const Axis& axis : axes)
    if (axis.is_mask())
      total += Compaction{numel(*axis.index)}.bytes() + aligned(numel(*axis.index) * 8);
  return total;
}

void AdvancedIndex::count_masks(const tn_call& call, const char* op, uint64_t offset) {
  if (!has_mask) return;
  offset += aligned(places() * 8);
  for (Axis& axis : axes) {
    if (!axis.is_mask()) continue;
    const int64_t size = numel(*axis.index);
    axis.positions = offset + Compaction{size}.bytes();
    axis.set = count_set(call, offset, *axis.index);
    if (axis.set > 0)
      write_set(call, offset, *axis.index, true, scratch<int64_t>(call, axis.positions, axis.set));
    offset = axis.positions + aligned(size * 8);
  }
  broadcast(op);
}

RowFinder find_places(const tn_call& call, const char* op, const AdvancedIndex& a,
                      uint64_t offset) {
  const int64_t count = a.places();
  const Ptr<int64_t> places = scratch<int64_t>(call, offset, count);
  if (a.axes.empty())
    rt::fill(static_cast<char*>(call.scratch) + offset, 0, static_cast<uint64_t>(count) * 8,
             stream_of(call).handle());
  for (size_t k = 0; k < a.axes.size(); ++k) {
    const Axis& axis = a.axes[k];
    IndexList list = index_list(*axis.index);
    if (axis.is_mask()) {
      list.dtype = TN_DTYPE_I64;
      list.bytes8 = scratch<uint64_t>(call, axis.positions, axis.set);
    }
    launch(call, grid_of(count), add_places, static_cast<uint32_t>(count),
           layout_of(axis, a.positions), list, check_of(call, op, axis.dim, axis.size, true),
           axis.step, k == 0, places);
  }
  return {places, Divider(static_cast<uint32_t>(std::max<int64_t>(count, 1))),
          Divider(static_cast<uint32_t>(std::max<int64_t>(product(a.mid), 1))), layout_of(a.before),
          layout_of(a.mid)};
}

}  // namespace tenon::gpu
