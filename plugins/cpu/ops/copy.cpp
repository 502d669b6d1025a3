// clone and contiguous: elements from one layout to another.
#include <cstring>

#include "dispatch.hpp"
#include "tenon/schemas.h"
#include "tiles.hpp"

namespace tenon::cpu {
namespace {

// Tiles of one cache line of each line that is read, and of four of each that is written.
template <class T>
void copy_transposed(const tn_loop& loop, const Operands<2>& operands, uint32_t across) {
  constexpr int64_t kRows = 64 / sizeof(T), kColumns = 4 * kRows;
  each_tile<2>(loop, operands, across, kRows, kColumns, kGrainCopy, [](const Tile<2>& tile) {
    T packed[kRows * kColumns];
    pack_tile<kRows, kColumns, T>(tile, 1, packed);
    for (int64_t i = 0; i < tile.rows; ++i)
      std::memcpy(tile.data[0] + i * tile.row_step[0], packed + i * tile.columns,
                  static_cast<size_t>(tile.columns) * sizeof(T));
  });
}

template <class T>
void copy_rows(const tn_loop& loop, const Operands<2>& operands) {
  constexpr int64_t kSize = sizeof(T);
  for_each_row<2>(loop, operands, kGrainCopy, [](int64_t n, const auto& data, const auto& step) {
    if (step[0] == kSize && step[1] == kSize) {
      if (n * kSize >= 64) {
        std::memcpy(data[0], data[1], static_cast<size_t>(n * kSize));
        return;
      }
    } else if (step[0] == kSize && step[1] == 0) {
      T* to = reinterpret_cast<T*>(data[0]);
      std::fill(to, to + n, *reinterpret_cast<const T*>(data[1]));
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      *reinterpret_cast<T*>(data[0] + i * step[0]) =
          *reinterpret_cast<const T*>(data[1] + i * step[1]);
  });
}

void copy(const tn_call& call) {
  const Operands<2> operands = operands_of<2>(call);
  const tn_loop& loop = *call.loop;
  const int64_t size = operands.size[0];
  if ((call.flags & TN_CALL_CONTIGUOUS) != 0 && (loop.ndim == 0 || loop.strides[1][0] == 1)) {
    parallel_for(loop_count(loop) * size, kGrainCopy * 4, [&](int64_t begin, int64_t end) {
      std::memcpy(operands.data[0] + begin, operands.data[1] + begin,
                  static_cast<size_t>(end - begin));
    });
    return;
  }
  const int across = transposed_dim<2>(loop);
  visit_size(static_cast<uint64_t>(size), [&]<class T>(Tag<T>) {
    if (across >= 0)
      copy_transposed<T>(loop, operands, static_cast<uint32_t>(across));
    else
      copy_rows<T>(loop, operands);
  });
}

}  // namespace

void add_copy_kernels(KernelList& list) {
  constexpr uint32_t kFlags = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS;
  list.add({.schema = TN_SCHEMA_CLONE, .dtypes = kMovable, .run = run_of<copy>, .flags = kFlags});
  list.add(
      {.schema = TN_SCHEMA_CONTIGUOUS, .dtypes = kMovable, .run = run_of<copy>, .flags = kFlags});
}

}  // namespace tenon::cpu
