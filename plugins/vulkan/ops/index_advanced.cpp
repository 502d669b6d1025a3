#include "ops/index_advanced.hpp"

#include "shaders/index_at.hpp"

namespace tenon::vulkan {
void find_places(const tn_call& call, const char* op, const AdvancedIndex& a, uint64_t offset) {
  const uint64_t bytes = static_cast<uint64_t>(a.places()) * 4;
  if (a.axes.empty())
    stream_of(call.stream)
        .fill_words(*static_cast<const Buffer*>(call.scratch_buffer), offset, bytes, 0);
  for (size_t k = 0; k < a.axes.size(); ++k) {
    const IndexAxis& axis = a.axes[k];
    Launch launch(call, shaders::index_at, Compute::kI32);
    launch.constant(static_cast<uint32_t>(a.positions.size())).constant(axis.index->dtype);
    launch.scratch(offset, bytes).in(*axis.index).check(op, axis.dim, axis.size);
    launch.word(a.places()).word(axis.size).word(axis.step * a.inner).word(k == 0 ? 1u : 0u);
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
  launch.word(a.places()).word(a.mids());
  launch.word(static_cast<uint32_t>(a.before.size())).word(static_cast<uint32_t>(a.mid.size()));
  std::vector<uint32_t> table;
  for (const auto* list : {&a.before, &a.mid}) {
    for (const KeptDim& k : *list) table.push_back(static_cast<uint32_t>(k.size));
    for (const KeptDim& k : *list) table.push_back(static_cast<uint32_t>(k.step * a.inner));
  }
  if (!table.empty()) launch.table(table);
}

}  // namespace tenon::vulkan
