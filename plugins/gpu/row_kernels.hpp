// Kernels that keep whole rows in registers, so that a row is read and written once.
#pragma once

#include <bit>

#include "fold.hpp"

namespace tenon::gpu {

inline constexpr uint32_t kRowThreads = kBlockThreads;

// Rows of n elements, `lanes` threads for each.
struct RowShape {
  int64_t rows;
  uint32_t n, lanes;
  uint32_t even;  // rows are aligned to vectors
};

template <class T>
inline constexpr uint32_t kRowVector = 16 / sizeof(T);

// Too few rows to fill a device, and long: better cut into chunks.
inline bool few_long_rows(int64_t rows, int64_t n) { return rows < 64 && n >= 16384; }

// Rows whose threads hold `vectors` vectors each.
template <class T>
bool rows_fit(int64_t rows, int64_t n, uint32_t vectors) {
  return n <= int64_t{vectors} * kRowVector<T> * kRowThreads && !few_long_rows(rows, n);
}
template <class T>
RowShape plan_rows(int64_t rows, int64_t n, uint32_t vectors,
                   std::initializer_list<const tn_view*> views) {
  const auto each = int64_t{vectors} * kRowVector<T>;
  RowShape shape{rows, static_cast<uint32_t>(n), 1, n % kRowVector<T> == 0};
  shape.lanes = std::bit_ceil(static_cast<uint32_t>(std::max<int64_t>(1, (n + each - 1) / each)));
  for (const tn_view* view : views)
    shape.even = shape.even != 0 && reinterpret_cast<uintptr_t>(view->data) % 16 == 0;
  return shape;
}
inline Grid row_grid(const RowShape& shape) {
  return fold_grid((shape.rows * shape.lanes + kRowThreads - 1) / kRowThreads);
}

// The row of this thread, if the block begins at `first`, and the thread's lane in the row.
GPU_DEVICE uint32_t row_lane(const RowShape& shape) { return thread_index().x % shape.lanes; }
GPU_DEVICE uint32_t rows_of_block(const RowShape& shape) { return kRowThreads / shape.lanes; }

// Element k of a lane's vector j.
template <class T>
GPU_DEVICE uint32_t row_place(const RowShape& shape, uint32_t j, uint32_t k) {
  return (j * shape.lanes + row_lane(shape)) * kRowVector<T> + k;
}

// A thread's elements of the row that begins at `at`; `otherwise` after its end, or if there is no row.
template <uint32_t kVectors, class T>
GPU_DEVICE void load_row(const RowShape& shape, bool any, const Ptr<const T>& at,
                         Compute<T> otherwise, Compute<T>* v) {
  constexpr uint32_t kN = kRowVector<T>;
  GPU_UNROLL
  for (uint32_t j = 0; j < kVectors; ++j) {
    const uint32_t first = row_place<T>(shape, j, 0);
    if (any && shape.even != 0 && first < shape.n) {
      const Vec<T, kN> some = load_vec<kN>(at + first);
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; ++k) v[j * kN + k] = widen<T>(some.at[k]);
    } else {
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; ++k) {
        v[j * kN + k] = otherwise;
        if (any && first + k < shape.n) v[j * kN + k] = load<T>(at, first + k);
      }
    }
  }
}
template <uint32_t kVectors, class T>
GPU_DEVICE void store_row(const RowShape& shape, bool any, const Ptr<T>& at, const Compute<T>* v) {
  constexpr uint32_t kN = kRowVector<T>;
  GPU_UNROLL
  for (uint32_t j = 0; j < kVectors; ++j) {
    const uint32_t first = row_place<T>(shape, j, 0);
    if (!any || first >= shape.n) continue;
    if (shape.even != 0) {
      Vec<T, kN> some;
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; ++k) some.at[k] = narrow<T>(v[j * kN + k]);
      store_vec<kN>(at + first, some);
    } else {
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; ++k)
        if (first + k < shape.n) store<T>(at, first + k, v[j * kN + k]);
    }
  }
}

}  // namespace tenon::gpu
