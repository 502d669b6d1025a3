// Kernels over whole rows of memory: launches of shaders/rows.glsl.
#pragma once

#include "fold.hpp"

namespace tenon::vulkan {

struct RowPlan {
  int64_t rows = 0, n = 0;  // rows of n elements
  uint32_t log_rows = 0;    // rows of a workgroup at a time
  uint32_t keep = 0;        // elements that an invocation keeps; 0 if a row is too long
  bool quads = false;       // by fours
};

// For operands that consist of whole rows: y and everything it is made of. `arrays`: how many elements are kept for each position in a row;
// they share an invocation's capacity.
RowPlan plan_rows(int64_t rows, int64_t n, const Device& device,
                  std::initializer_list<const tn_view*> operands, uint32_t arrays = 1);

// Too few rows to fill a device, and long: better cut into chunks.
inline bool few_long_rows(int64_t rows, int64_t n) { return rows < 64 && n >= 16384; }

// The shader for a device: the second reduces by subgroups.
inline const Shader& row_shader(const tn_call& call, const Shader& plain,
                                const Shader& by_subgroups) {
  return device_of(call).subgroups() ? by_subgroups : plain;
}
// How every such shader begins: constants 1 to 3. Words 0 to 2 are row_words().
Launch& row_constants(Launch& launch, uint32_t code, tn_dtype dtype, const RowPlan& plan);
Launch& row_words(Launch& launch, const RowPlan& plan);
// `most`: the number of workgroups; they loop over rows.
void row_groups(Launch& launch, const RowPlan& plan, int64_t most = INT64_MAX);

}  // namespace tenon::vulkan
