// clone and contiguous: elements from one layout to another.
#include <cstring>

#include "dispatch.hpp"
#include "loops.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// A square of a transposition that both sides hold in the first cache.
constexpr int64_t kTile = 32;

// to[i][j] = from[i][j], where `from` is contiguous along i and `to` along j; steps of the other
// dimension in elements.
template <class T>
void transpose_tile(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows,
                    int64_t columns) {
  T tile[kTile][kTile];
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) tile[i][j] = from[i + j * from_step];
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(static_cast<void*>(to + i * to_step), tile[i],
                static_cast<size_t>(columns) * sizeof(T));
}

// Which outer dimension the source is contiguous along, when the innermost one is not; -1 for none.
int transposed_dim(const tn_loop& loop) {
  const uint32_t last = loop.ndim - 1;
  if (loop.ndim < 2 || loop.strides[0][last] != 1 || loop.strides[1][last] == 1 ||
      loop.strides[1][last] == 0)
    return -1;
  for (uint32_t d = 0; d < last; ++d)
    if (loop.strides[1][d] == 1 && loop.shape[d] >= 8 && loop.shape[last] >= 8)
      return static_cast<int>(d);
  return -1;
}

// A copy whose source is contiguous along dimension `across` and whose target is along the last: in
// tiles of both.
template <class T>
void copy_transposed(const tn_loop& loop, const Operands<2>& operands, uint32_t across) {
  const uint32_t last = loop.ndim - 1;
  const int64_t rows = loop.shape[across], columns = loop.shape[last];
  const int64_t row_tiles = (rows + kTile - 1) / kTile,
                column_tiles = (columns + kTile - 1) / kTile;
  int64_t planes = 1;
  for (uint32_t d = 0; d < last; ++d)
    if (d != across) planes *= loop.shape[d];
  parallel_for(planes * row_tiles, std::max<int64_t>(1, kGrainCopy / (kTile * columns)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t item = begin; item < end; ++item) {
                   T* to = reinterpret_cast<T*>(operands.data[0]);
                   const T* from = reinterpret_cast<const T*>(operands.data[1]);
                   int64_t plane = item / row_tiles;
                   for (uint32_t d = last; d-- > 0;) {
                     if (d == across) continue;
                     to += plane % loop.shape[d] * loop.strides[0][d];
                     from += plane % loop.shape[d] * loop.strides[1][d];
                     plane /= loop.shape[d];
                   }
                   const int64_t i = item % row_tiles * kTile, m = std::min(kTile, rows - i);
                   const int64_t to_step = loop.strides[0][across],
                                 from_step = loop.strides[1][last];
                   for (int64_t t = 0; t < column_tiles; ++t) {
                     const int64_t j = t * kTile, n = std::min(kTile, columns - j);
                     transpose_tile(from + i + j * from_step, from_step, to + i * to_step + j,
                                    to_step, m, n);
                   }
                 }
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
  const int across = loop.ndim == 0 ? -1 : transposed_dim(loop);
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
  list.add(
      {.schema = TN_SCHEMA_CLONE, .dtypes = TN_MASK_ALL, .run = run_of<copy>, .flags = kFlags});
  list.add({.schema = TN_SCHEMA_CONTIGUOUS,
            .dtypes = TN_MASK_ALL,
            .run = run_of<copy>,
            .flags = kFlags});
}

}  // namespace tenon::cpu
