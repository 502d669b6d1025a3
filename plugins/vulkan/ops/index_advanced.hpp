// NumPy's indexing by several tensors, brought into one form: where blocks of elements begin.
#pragma once

#include "kernels.hpp"

namespace tenon::vulkan {

// A result element is found at before + at[b] + mid + c, with c inside a block of `inner` elements that lie side by side.
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
  std::vector<int64_t> positions;  // shape of the index tensors, broadcast
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

// x is contiguous, the indices hold no mask.
AdvancedIndex read_indices(const tn_view& x, const tn_value& indices);
// at[b] into the call's scratch memory, from byte `offset` on; every index is checked.
void find_places(const tn_call& call, const char* op, const AdvancedIndex& index, uint64_t offset);
// Words and table as shaders/blocks.glsl reads them.
void give_blocks(Launch& launch, const AdvancedIndex& index);

}  // namespace tenon::vulkan
