#include "ops/index_advanced.hpp"

#include "shaders/index_at.hpp"

namespace tenon::vulkan {
namespace {

void broadcast(std::vector<int64_t>& shape, const tn_view& index) {
  if (index.ndim > shape.size()) shape.insert(shape.begin(), index.ndim - shape.size(), 1);
  for (uint32_t d = 0; d < index.ndim; ++d) {
    int64_t& size = shape[shape.size() - index.ndim + d];
    if (size == 1) size = index.shape[d];
  }
}

}  // namespace

AdvancedIndex read_indices(const tn_view& x, const tn_value& indices) {
  AdvancedIndex a;
  std::vector<int64_t> steps(x.ndim);
  int64_t step = 1;
  for (uint32_t d = x.ndim; d-- > 0; step *= x.shape[d]) steps[d] = step;
  std::vector<Kept> kept;
  uint32_t dim = 0, runs = 0;
  size_t place = 0;
  bool inside = false;
  for (uint32_t k = 0; k < indices.count; ++k, ++dim) {
    const tn_view* index = indices.as.views[k];
    if (index == nullptr) {
      kept.push_back({x.shape[dim], steps[dim]});
    } else {
      if (!inside && runs++ == 0) place = kept.size();
      a.axes.push_back({index, dim, x.shape[dim], steps[dim]});
      broadcast(a.positions, *index);
    }
    inside = index != nullptr;
  }
  // If a slice separates index tensors, their shape comes first.
  if (runs != 1) place = 0;
  const auto split = kept.begin() + static_cast<std::ptrdiff_t>(place);
  a.before.assign(kept.begin(), split);
  a.mid.assign(split, kept.end());
  for (const Kept& k : a.before) a.shape.push_back(k.size);
  a.shape.insert(a.shape.end(), a.positions.begin(), a.positions.end());
  for (const Kept& k : a.mid) a.shape.push_back(k.size);
  for (; dim < x.ndim; ++dim) {
    a.inner *= x.shape[dim];
    a.shape.push_back(x.shape[dim]);
  }
  return a;
}

void find_places(const tn_call& call, const char* op, const AdvancedIndex& a, uint64_t offset) {
  const uint64_t bytes = static_cast<uint64_t>(a.places()) * 4;
  if (a.axes.empty())
    stream_of(call.stream)
        .fill_words(*static_cast<const Buffer*>(call.scratch_buffer), offset, bytes, 0);
  for (size_t k = 0; k < a.axes.size(); ++k) {
    const Axis& axis = a.axes[k];
    Launch launch(call, shaders::index_at, Compute::kI32);
    launch.constant(static_cast<uint32_t>(a.positions.size())).constant(axis.index->dtype);
    launch.scratch(offset, bytes).in(*axis.index).check(op, axis.dim, axis.size);
    launch.word(a.places()).word(axis.size).word(axis.step).word(k == 0 ? 1u : 0u);
    std::vector<uint32_t> table(a.positions.begin(), a.positions.end());
    const size_t missing = a.positions.size() - axis.index->ndim;
    for (size_t d = 0; d < a.positions.size(); ++d) {
      const bool repeated = d < missing || axis.index->shape[d - missing] == 1;
      table.push_back(repeated ? 0 : static_cast<uint32_t>(axis.index->strides[d - missing]));
    }
    if (!table.empty()) launch.table(table);
    launch.elements(a.places());
  }
}

void give_blocks(Launch& launch, const AdvancedIndex& a) {
  launch.word(a.places()).word(AdvancedIndex::count(a.mid));
  launch.word(static_cast<uint32_t>(a.before.size())).word(static_cast<uint32_t>(a.mid.size()));
  std::vector<uint32_t> table;
  for (const auto* list : {&a.before, &a.mid}) {
    for (const Kept& k : *list) table.push_back(static_cast<uint32_t>(k.size));
    for (const Kept& k : *list) table.push_back(static_cast<uint32_t>(k.step));
  }
  if (!table.empty()) launch.table(table);
}

}  // namespace tenon::vulkan
