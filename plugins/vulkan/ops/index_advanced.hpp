// Advanced indexing on the device: where blocks of elements begin. The indices contain no mask.
#pragma once

#include "../../common/advanced_index.hpp"
#include "kernels.hpp"

namespace tenon::vulkan {

// Writes at[b] into the call's scratch memory from byte `offset` on, and checks every index.
void find_places(const tn_call& call, const char* op, const AdvancedIndex& index, uint64_t offset);
// Words and table as shaders/blocks.glsl reads them.
void give_blocks(Launch& launch, const AdvancedIndex& index);

}  // namespace tenon::vulkan
