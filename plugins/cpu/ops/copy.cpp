// clone and contiguous: elements from one layout to another.
#include <algorithm>
#include <cstring>

#include "copy_loop.hpp"
#include "dispatch.hpp"
#include "tenon/schemas.h"
#include "tiles.hpp"

namespace tenon::cpu {
namespace {

// Tiles of one cache line of each line that is read, and of four of each that is written.
template <class T>
void copy_transposed(const tn_loop& loop, const Operands<2>& operands, uint32_t across) {
  constexpr int64_t kRows = 64 / sizeof(T), kColumns = 4 * kRows;
  each_tile<2>(loop, operands, across, kRows, kColumns, kGrainMath, [](const Tile<2>& tile) {
    T packed[kRows * kColumns];
    pack_tile<kRows, kColumns, T>(tile, 1, packed);
    const int64_t step = tile.column_step[0];
    for (int64_t i = 0; i < tile.rows; ++i) {
      char* const to = tile.data[0] + i * tile.row_step[0];
      const T* const row = packed + i * tile.columns;
      if (step == static_cast<int64_t>(sizeof(T))) {
        std::memcpy(to, row, static_cast<size_t>(tile.columns) * sizeof(T));
        continue;
      }
      for (int64_t j = 0; j < tile.columns; ++j) *reinterpret_cast<T*>(to + j * step) = row[j];
    }
  });
}

template <class T>
void copy_narrow(const tn_loop& loop, const Operands<2>& operands, uint32_t beside) {
  constexpr int64_t kRows = 1024;
  each_tile<2>(loop, operands, beside, kRows, kNarrow, kGrainCopy, [](const Tile<2>& tile) {
    move_narrow<T>(tile.data[1], tile.row_step[1], tile.column_step[1], tile.data[0],
                   tile.row_step[0], tile.column_step[0], tile.rows, tile.columns);
  });
}

// A row whose elements are read from its end. By way of a buffer short ones are read forwards, as caches foresee it.
template <class T>
void copy_reversed_row(const T* last, T* to, int64_t n) {
  constexpr int64_t kShort = 16384 / sizeof(T), kBlock = 64;
  if (n <= kBlock || n > kShort) return copy_reversed(last, to, n);
  alignas(T) char bytes[kShort * sizeof(T)];
  T* const buffer = reinterpret_cast<T*>(bytes);
  for (int64_t left = n; left > 0;) {
    const int64_t m = std::min(kBlock, left);
    copy_reversed(last - (left - m), buffer + left - m, m);
    left -= m;
  }
  std::memcpy(to, buffer, static_cast<size_t>(n) * sizeof(T));
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
    } else if (step[0] == kSize && step[1] == -kSize) {
      copy_reversed_row(reinterpret_cast<const T*>(data[1]), reinterpret_cast<T*>(data[0]), n);
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      *reinterpret_cast<T*>(data[0] + i * step[0]) =
          *reinterpret_cast<const T*>(data[1] + i * step[1]);
  });
}

// The same elements with outer dimensions walked as they are read: caches foresee that rather than the order of writing.
struct Forwards {
  tn_loop loop;
  Operands<2> operands;
  int64_t steps[2][TN_MAX_DIMS];
  const int64_t* const strides[2] = {steps[0], steps[1]};

  Forwards(const tn_loop& given, const Operands<2>& places) : loop(given), operands(places) {
    for (size_t k = 0; k < 2; ++k) std::copy_n(given.strides[k], loop.ndim, steps[k]);
    for (uint32_t d = 0; d + 1 < loop.ndim; ++d) {
      if (steps[1][d] >= 0) continue;
      for (size_t k = 0; k < 2; ++k) {
        operands.data[k] += (loop.shape[d] - 1) * steps[k][d] * operands.size[k];
        steps[k][d] = -steps[k][d];
      }
    }
    loop.strides = strides;
  }
};

void copy_loop(const tn_loop& given, const Operands<2>& places) {
  const Forwards forwards(given, places);
  const tn_loop& loop = forwards.loop;
  const Operands<2>& operands = forwards.operands;
  const int across = transposed_dim<2>(loop, true), beside = across < 0 ? beside_narrow(loop) : -1;
  visit_size(static_cast<uint64_t>(operands.size[0]), [&]<class T>(Tag<T>) {
    if (across >= 0)
      copy_transposed<T>(loop, operands, static_cast<uint32_t>(across));
    else if (beside >= 0)
      copy_narrow<T>(loop, operands, static_cast<uint32_t>(beside));
    else
      copy_rows<T>(loop, operands);
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
  copy_loop(loop, operands);
}

}  // namespace

void copy_strided(std::span<const int64_t> shape, int64_t size, char* to, const int64_t* to_strides,
                  const char* from, const int64_t* from_strides) {
  int64_t sizes[TN_MAX_DIMS], steps[2][TN_MAX_DIMS];
  const int64_t* const strides[] = {steps[0], steps[1]};
  tn_loop loop{};
  loop.struct_size = sizeof loop;
  loop.noperands = 2;
  loop.shape = sizes;
  loop.strides = strides;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const uint32_t last = loop.ndim - 1;
    const bool joins = loop.ndim > 0 && steps[0][last] == shape[d] * to_strides[d] &&
                       steps[1][last] == shape[d] * from_strides[d];
    const uint32_t at = joins ? last : loop.ndim++;
    sizes[at] = joins ? sizes[at] * shape[d] : shape[d];
    steps[0][at] = to_strides[d];
    steps[1][at] = from_strides[d];
  }
  copy_loop(loop, {{to, const_cast<char*>(from)}, {size, size}});
}

void add_copy_kernels(KernelList& list) {
  constexpr uint32_t kFlags = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS;
  list.add({.schema = TN_SCHEMA_CLONE, .dtypes = kMovable, .run = run_of<copy>, .flags = kFlags});
  list.add(
      {.schema = TN_SCHEMA_CONTIGUOUS, .dtypes = kMovable, .run = run_of<copy>, .flags = kFlags});
}

}  // namespace tenon::cpu
