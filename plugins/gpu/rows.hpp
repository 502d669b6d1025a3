// Rows of units, shared by the threads of a block: x counts columns, y rows. The grid's y counts outer planes.
#pragma once

#include <algorithm>
#include <bit>

#include "launch.hpp"

namespace tenon::gpu {

// A dense array as outer × size × inner around one dimension.
struct Around {
  int64_t outer = 1, size = 1, inner = 1;
};
inline Around around(const tn_view& x, int64_t dim) {
  Around a;
  for (uint32_t d = 0; d < x.ndim; ++d)
    (d < dim ? a.outer : d == dim ? a.size : a.inner) *= x.shape[d];
  return a;
}

struct Rows {
  int64_t outer, count, inner;
  uint32_t width = 1;  // threads for each row, a power of 2

  static constexpr uint32_t kThreads = kBlockThreads;
  Rows(int64_t planes, int64_t rows, int64_t columns) : outer(planes), count(rows), inner(columns) {
    const auto most = static_cast<uint64_t>(std::clamp<int64_t>(inner, 1, kThreads));
    width = static_cast<uint32_t>(std::bit_ceil(most));
    // Half the threads in two rounds do as well, if otherwise many would idle in the last.
    if (width > 32 && most * 4 <= width * 3) width /= 2;
  }
  Grid grid() const {
    const int64_t together = kThreads / width, blocks = (count + together - 1) / together;
    return {{static_cast<uint32_t>(std::min<int64_t>(blocks, 1 << 20)),
             static_cast<uint32_t>(std::min<int64_t>(outer, 65535)), 1},
            {kThreads, 1, 1}};
  }
  GPU_DEVICE int64_t first() const {
    return int64_t{block_index().x} * (kThreads / width) + thread_index().x / width;
  }
  GPU_DEVICE int64_t step() const { return int64_t{block_count().x} * (kThreads / width); }
  GPU_DEVICE uint32_t column() const { return thread_index().x % width; }
  GPU_DEVICE uint32_t across() const { return width; }
};

}  // namespace tenon::gpu
