// Walks the canonical loop of an elementwise call row by row: a row is a stretch of the innermost
// dimension, with one byte step an operand.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels.hpp"
#include "threads.hpp"

namespace tenon::cpu {

// The operands of a call: outputs, then inputs in schema order.
template <size_t K>
struct Operands {
  std::array<char*, K> data;
  std::array<int64_t, K> size;  // bytes of an element
};

// outs[0..Outs) and the views among args[0..).
template <size_t K, size_t Outs = 1>
inline Operands<K> operands_of(const tn_call& call) {
  Operands<K> result;
  for (size_t k = 0; k < K; ++k) {
    const tn_view& view = k < Outs ? *call.outs[k] : *call.args[k - Outs].as.view;
    result.data[k] = static_cast<char*>(view.data);
    result.size[k] = size_of(view.dtype);
  }
  return result;
}

inline int64_t loop_count(const tn_loop& loop) {
  int64_t n = 1;
  for (uint32_t d = 0; d < loop.ndim; ++d) n *= loop.shape[d];
  return n;
}

// Bytes from an element of a row to the next, by operand.
template <size_t K>
inline std::array<int64_t, K> row_steps(const tn_loop& loop, const Operands<K>& operands) {
  std::array<int64_t, K> step{};
  for (size_t k = 0; loop.ndim > 0 && k < K; ++k)
    step[k] = loop.strides[k][loop.ndim - 1] * operands.size[k];
  return step;
}

// row(n, data, steps) for each piece of a row in [begin, end) of the loop's flat index;
// steps in bytes.
template <size_t K, class Row>
inline void walk_rows(const tn_loop& loop, const Operands<K>& operands, int64_t begin, int64_t end,
                      Row&& row) {
  const std::array<int64_t, K> step = row_steps(loop, operands);
  const uint32_t last = loop.ndim - 1;  // ndim > 0
  int64_t index[TN_MAX_DIMS];
  std::array<char*, K> data = operands.data;
  int64_t rest = begin;
  for (uint32_t d = loop.ndim; d-- > 0;) {
    index[d] = rest % loop.shape[d];
    rest /= loop.shape[d];
    for (size_t k = 0; k < K; ++k) data[k] += index[d] * loop.strides[k][d] * operands.size[k];
  }
  // From the end of a row to the next one, within the dimension outside it.
  const int64_t rows = last > 0 ? loop.shape[last - 1] : 1;
  std::array<int64_t, K> down{};
  for (size_t k = 0; last > 0 && k < K; ++k) down[k] = loop.strides[k][last - 1] * operands.size[k];
  while (begin < end) {
    const int64_t n = std::min(loop.shape[last] - index[last], end - begin);
    row(n, data, step);
    begin += n;
    if (begin >= end) break;
    // The row is done: back to its start, then on by a row, or carry into the outer dimensions.
    for (size_t k = 0; k < K; ++k) data[k] += down[k] - index[last] * step[k];
    index[last] = 0;
    if (++index[last - 1] < rows) continue;
    for (size_t k = 0; k < K; ++k) data[k] -= rows * down[k];
    index[last - 1] = 0;
    for (uint32_t d = last - 1; d-- > 0;) {
      for (size_t k = 0; k < K; ++k) data[k] += loop.strides[k][d] * operands.size[k];
      if (++index[d] < loop.shape[d]) break;
      for (size_t k = 0; k < K; ++k)
        data[k] -= loop.shape[d] * loop.strides[k][d] * operands.size[k];
      index[d] = 0;
    }
  }
}

// The whole loop, over threads from `grain` elements on.
template <size_t K, class Row>
inline void for_each_row(const tn_loop& loop, const Operands<K>& operands, int64_t grain,
                         Row&& row) {
  if (loop.ndim == 0) {
    row(int64_t{1}, operands.data, std::array<int64_t, K>{});
    return;
  }
  parallel_for(loop_count(loop), grain,
               [&](int64_t begin, int64_t end) { walk_rows<K>(loop, operands, begin, end, row); });
}

}  // namespace tenon::cpu
