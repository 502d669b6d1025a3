// Walks a loop in tiles over two dimensions, for operands that are contiguous along different ones:
// whole cache lines are used on both sides.
#pragma once

#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "loops.hpp"

namespace tenon::cpu {

// The outer dimension along which some input is contiguous, forwards or backwards, while the output is along the last, where it may
// have gaps if told so; -1 when rows do as well.
template <size_t K>
inline int transposed_dim(const tn_loop& loop, bool gaps = false) {
  constexpr int64_t kWorthwhile = 8;
  if (loop.ndim < 2 || (!gaps && loop.strides[0][loop.ndim - 1] != 1)) return -1;
  const uint32_t last = loop.ndim - 1;
  if (loop.shape[last] < kWorthwhile) return -1;
  for (size_t k = 1; k < K; ++k) {
    if (std::abs(loop.strides[k][last]) <= 1) continue;
    for (uint32_t d = 0; d < last; ++d)
      if (std::abs(loop.strides[k][d]) == 1 && loop.shape[d] >= kWorthwhile)
        return static_cast<int>(d);
  }
  return -1;
}

// to[i] = from[-i] for n elements.
template <class T>
inline void copy_reversed(const T* from, T* to, int64_t n) {
  constexpr int64_t kLanes = 16 / sizeof(T);
  int64_t i = 0;
  if constexpr (std::is_integral_v<T> && kLanes > 1) {
    typedef T Line __attribute__((vector_size(16)));
    for (; i + kLanes <= n; i += kLanes) {
      Line line;
      std::memcpy(&line, from - i - (kLanes - 1), sizeof line);
      line = [&]<int... I>(std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(line, line, (int{kLanes} - 1 - I)...);
      }
      (std::make_integer_sequence<int, int{kLanes}>());
      std::memcpy(to + i, &line, sizeof line);
    }
  }
  for (; i < n; ++i) to[i] = from[-i];
}

constexpr int64_t kNarrow = 16;

// Where the last dimension is so short that a row would not pay for its start: the dimension to walk together with it; else -1.
inline int beside_narrow(const tn_loop& loop) {
  if (loop.ndim < 2 || loop.shape[loop.ndim - 1] >= kNarrow) return -1;
  uint32_t best = loop.ndim - 2;
  for (uint32_t d = best; loop.shape[best] < kNarrow && d-- > 0;)
    if (loop.shape[d] > loop.shape[best]) best = d;
  return static_cast<int>(best);
}

// A tile of dimension `across` (rows) and the last one (columns). Steps in bytes.
template <size_t K>
struct Tile {
  int64_t rows, columns;
  std::array<char*, K> data;
  std::array<int64_t, K> row_step, column_step;
};

template <size_t K, class Visit>
inline void each_tile(const tn_loop& loop, const Operands<K>& operands, uint32_t across,
                      int64_t tile_rows, int64_t tile_columns, int64_t grain, Visit&& visit) {
  const uint32_t last = loop.ndim - 1;
  const int64_t rows = loop.shape[across], columns = loop.shape[last];
  const int64_t row_tiles = (rows + tile_rows - 1) / tile_rows;
  int64_t planes = 1;
  for (uint32_t d = 0; d < last; ++d)
    if (d != across) planes *= loop.shape[d];
  if (columns == 0) return;
  Tile<K> first;
  for (size_t k = 0; k < K; ++k) {
    first.row_step[k] = loop.strides[k][across] * operands.size[k];
    first.column_step[k] = loop.strides[k][last] * operands.size[k];
  }
  const int64_t items_worth_a_thread = std::max<int64_t>(1, grain / (tile_rows * columns));
  parallel_for(planes * row_tiles, items_worth_a_thread, [&](int64_t begin, int64_t end) {
    Tile<K> tile = first;
    for (int64_t item = begin; item < end; ++item) {
      std::array<char*, K> start = operands.data;
      int64_t plane = item / row_tiles;
      for (uint32_t d = last; d-- > 0;) {
        if (d == across) continue;
        for (size_t k = 0; k < K; ++k)
          start[k] += plane % loop.shape[d] * loop.strides[k][d] * operands.size[k];
        plane /= loop.shape[d];
      }
      const int64_t row = item % row_tiles * tile_rows;
      tile.rows = std::min(tile_rows, rows - row);
      for (int64_t column = 0; column < columns; column += tile_columns) {
        tile.columns = std::min(tile_columns, columns - column);
        for (size_t k = 0; k < K; ++k)
          tile.data[k] = start[k] + row * tile.row_step[k] + column * tile.column_step[k];
        visit(tile);
      }
    }
  });
}

template <class T>
inline void pack_columns(const char* from, int64_t step, T* to, int64_t rows, int64_t columns,
                         int64_t pitch) {
  for (int64_t j = 0; j < columns; ++j) {
    const T* line = reinterpret_cast<const T*>(from + j * step);
    for (int64_t i = 0; i < rows; ++i) to[i * pitch + j] = line[i];
  }
}

// A tile of whole squares that registers of 16 bytes hold: log2 n times the first half of the lines is interleaved with the second.
template <class T>
inline void pack_squares(const char* from, int64_t step, T* to, int64_t pitch, int64_t rows,
                         int64_t columns) {
  constexpr int64_t n = 16 / sizeof(T);
  typedef T Line __attribute__((vector_size(16)));
  const auto interleave = [&]<int... I>(const Line* in, Line* out,
                                        std::integer_sequence<int, I...>) {
    for (int64_t k = 0; k < n / 2; ++k) {
      out[2 * k] = __builtin_shufflevector(in[k], in[k + n / 2], (I / 2 + I % 2 * n)...);
      out[2 * k + 1] =
          __builtin_shufflevector(in[k], in[k + n / 2], (n / 2 + I / 2 + I % 2 * n)...);
    }
  };
  for (int64_t j = 0; j < columns; j += n)
    for (int64_t i = 0; i < rows; i += n) {
      Line lines[2][n];
      for (int64_t k = 0; k < n; ++k)
        std::memcpy(&lines[0][k], from + (j + k) * step + i * sizeof(T), sizeof(Line));
      int now = 0;
      for (int64_t k = 1; k < n; k *= 2, now ^= 1)
        interleave(lines[now], lines[now ^ 1], std::make_integer_sequence<int, int{n}>());
      for (int64_t k = 0; k < n; ++k)
        std::memcpy(to + (i + k) * pitch + j, &lines[now][k], sizeof(Line));
    }
}

// A tile of operand k into packed rows; whole tiles have kRows by kColumns, which the compiler then knows.
template <int64_t kRows, int64_t kColumns, class T, size_t K>
inline void pack_tile(const Tile<K>& tile, size_t k, T* to) {
  const char* from = tile.data[k];
  const int64_t row_step = tile.row_step[k], column_step = tile.column_step[k];
  const int64_t rows = tile.rows, columns = tile.columns;
  if (std::abs(row_step) ==
      static_cast<int64_t>(sizeof(T))) {  // each line that is read becomes a column
    int64_t pitch = columns;
    if (row_step < 0) {  // from its end: rows from the last one
      from += (rows - 1) * row_step;
      to += (rows - 1) * columns;
      pitch = -columns;
    }
    if constexpr (std::is_integral_v<T>) {
      constexpr int64_t kSquare = 16 / sizeof(T);
      if (rows % kSquare == 0 && columns % kSquare == 0)
        return pack_squares(from, column_step, to, pitch, rows, columns);
    }
    if (rows == kRows && columns == kColumns)
      return pack_columns(from, column_step, to, kRows, kColumns, pitch);
    return pack_columns(from, column_step, to, rows, columns, pitch);
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * columns + j] = *reinterpret_cast<const T*>(from + i * row_step + j * column_step);
}

// Elements of a tile from operand `from` to other places; few columns.
template <class T, class Columns>
inline void move_columns(const char* from, int64_t row_step, int64_t column_step, char* to,
                         int64_t to_row, int64_t to_column, int64_t rows, Columns columns) {
  for (int64_t i = 0; i < rows; ++i, from += row_step, to += to_row)
    for (int64_t j = 0; j < columns; ++j)
      *reinterpret_cast<T*>(to + j * to_column) =
          *reinterpret_cast<const T*>(from + j * column_step);
}
template <class T>
inline void move_narrow(const char* from, int64_t row_step, int64_t column_step, char* to,
                        int64_t to_row, int64_t to_column, int64_t rows, int64_t columns) {
  constexpr int64_t kSize = sizeof(T);
  const auto move = [&](auto step, auto to_step, auto count) {
    move_columns<T>(from, row_step, step, to, to_row, to_step, rows, count);
  };
  const auto by_count = [&](auto step, auto to_step) {
    if (columns == 2) return move(step, to_step, std::integral_constant<int64_t, 2>());
    if (columns == 3) return move(step, to_step, std::integral_constant<int64_t, 3>());
    if (columns == 4) return move(step, to_step, std::integral_constant<int64_t, 4>());
    move(step, to_step, columns);
  };
  constexpr std::integral_constant<int64_t, kSize> kNext;
  if (to_column != kSize) return move(column_step, to_column, columns);
  if (column_step == kSize) return by_count(kNext, kNext);
  if (column_step == 0) return by_count(std::integral_constant<int64_t, 0>(), kNext);
  by_count(column_step, kNext);
}

}  // namespace tenon::cpu
