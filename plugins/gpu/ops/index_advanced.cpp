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

Layout<1> layout_of(const std::vector<KeptDim>& kept) {
  LoopPart part;
  for (const KeptDim& k : kept) {
    part.shape[part.ndim] = static_cast<uint32_t>(std::max<int64_t>(k.size, 1));
    part.strides[0][part.ndim++] = k.step;
  }
  return Layout<1>(part);
}

// An axis over the positions.
Layout<1> layout_of(const IndexAxis& axis, const std::vector<int64_t>& positions) {
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

bool RowIndex::fits() const {
  const bool masks_fit = std::all_of(axes.begin(), axes.end(), [](const IndexAxis& axis) {
    return !axis.is_mask() || numel(*axis.index) < INT32_MAX;
  });
  return masks_fit && places() < INT32_MAX && blocks() < INT32_MAX;
}

uint64_t RowIndex::bytes() const {
  uint64_t total = aligned(places() * 8);
  for (const IndexAxis& axis : axes)
    if (axis.is_mask())
      total += Compaction{numel(*axis.index)}.bytes() + aligned(numel(*axis.index) * 8);
  return total;
}

void RowIndex::count_masks(const tn_call& call, const char* op, uint64_t offset) {
  if (!has_mask) return;
  offset += aligned(places() * 8);
  written.assign(axes.size(), 0);
  for (size_t k = 0; k < axes.size(); ++k) {
    IndexAxis& axis = axes[k];
    if (!axis.is_mask()) continue;
    const int64_t size = numel(*axis.index);
    written[k] = offset + Compaction{size}.bytes();
    axis.set = count_set(call, offset, *axis.index);
    if (axis.set > 0)
      write_set(call, offset, *axis.index, true, scratch<int64_t>(call, written[k], axis.set));
    offset = written[k] + aligned(size * 8);
  }
  broadcast(op);
}

RowFinder find_places(const tn_call& call, const char* op, const RowIndex& a, uint64_t offset) {
  const int64_t count = a.places();
  const Ptr<int64_t> places = scratch<int64_t>(call, offset, count);
  if (a.axes.empty())
    rt::fill(static_cast<char*>(call.scratch) + offset, 0, static_cast<uint64_t>(count) * 8,
             stream_of(call).handle());
  for (size_t k = 0; k < a.axes.size(); ++k) {
    const IndexAxis& axis = a.axes[k];
    IndexList list = index_list(*axis.index);
    if (axis.is_mask()) {
      list.dtype = TN_DTYPE_I64;
      list.bytes8 = scratch<uint64_t>(call, a.written[k], axis.set);
    }
    launch(call, grid_of(count), add_places, static_cast<uint32_t>(count),
           layout_of(axis, a.positions), list, check_of(call, op, axis.dim, axis.size, true),
           axis.step, k == 0, places);
  }
  return {places, Divider(static_cast<uint32_t>(std::max<int64_t>(count, 1))),
          Divider(static_cast<uint32_t>(std::max<int64_t>(a.mids(), 1))), layout_of(a.before),
          layout_of(a.mid)};
}

}  // namespace tenon::gpu
