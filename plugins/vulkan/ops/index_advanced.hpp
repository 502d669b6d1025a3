// NumPy's advanced indexing in one form: the positions where blocks of elements begin.
#pragma once

#include "kernels.hpp"

namespace tenon::vulkan {

// A result element comes from before + at[b] + mid + c, where c is inside a contiguous block of `inner` elements.
struct Axis {
  const tn_view* index;
  int64_t dim, size, step;
};
struct Kept {
  int64_t size, step;
};
struct AdvancedIndex {
  std::vector<Axis> axes;
  std::vector<Kept> before, mid;
  std::vector<int64_t> positions;  // the broadcast shape of the index tensors
  int64_t inner = 1;
  std::vector<int64_t> shape;  // of the result

  static int64_t count(const std::vector<Kept>& kept) {
    int64_t n = 1;
    for (const Kept& k : kept) n *= k.size;
    return n;
  }
  int64_t places() const {
    int64_t n = 1;
    for (const int64_t size : positions) n *= size;
    return n;
  }
  int64_t blocks() const { return count(before) * places() * count(mid); }
};

// x must be contiguous, and the indices contain no mask.
AdvancedIndex read_indices(const tn_view& x, const tn_value& indices);
// Writes at[b] into the call's scratch memory from byte `offset` on, and checks every index.
void find_places(const tn_call& call, const char* op, const AdvancedIndex& index, uint64_t offset);
// Words and table as shaders/blocks.glsl reads them.
void give_blocks(Launch& launch, const AdvancedIndex& index);

}  // namespace tenon::vulkan
