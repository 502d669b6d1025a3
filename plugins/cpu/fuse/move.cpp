#include "move.hpp"

#include <algorithm>
#include <cstring>

#include "dispatch.hpp"

namespace tenon::cpu {
namespace {

template <class T>
void move_row(const char* from, int64_t step, char* to, int64_t into, int64_t n) {
  constexpr int64_t kSize = sizeof(T);
  T* const out = reinterpret_cast<T*>(to);
  if (into == kSize && step == kSize) {
    std::memcpy(to, from, static_cast<size_t>(n * kSize));
  } else if (into == kSize && step == 0) {
    std::fill(out, out + n, *reinterpret_cast<const T*>(from));
  } else if (into == kSize) {
    for (int64_t i = 0; i < n; ++i) out[i] = *reinterpret_cast<const T*>(from + i * step);
  } else {
    for (int64_t i = 0; i < n; ++i)
      *reinterpret_cast<T*>(to + i * into) = *reinterpret_cast<const T*>(from + i * step);
  }
}

template <class T>
void move_as(const char* from, Layout2 by, char* to, Layout2 into, int64_t rows, int64_t columns) {
  // Along what lies side by side in the source, or at least in the target.
  const bool down = columns == 1 || (by.row == static_cast<int64_t>(sizeof(T)) &&
                                     by.column != static_cast<int64_t>(sizeof(T)));
  if (down)
    for (int64_t j = 0; j < columns; ++j)
      move_row<T>(from + j * by.column, by.row, to + j * into.column, into.row, rows);
  else
    for (int64_t i = 0; i < rows; ++i)
      move_row<T>(from + i * by.row, by.column, to + i * into.row, into.column, columns);
}

}  // namespace

void move_tile(const char* from, Layout2 by, char* to, Layout2 into, int64_t rows, int64_t columns,
               int64_t size) {
  visit_size(static_cast<uint64_t>(size),
             [&]<class T>(Tag<T>) { move_as<T>(from, by, to, into, rows, columns); });
}

}  // namespace tenon::cpu
