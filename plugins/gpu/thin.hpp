// Products of up to four rows, where every element of b is read once. If b is contiguous along k, a team of threads computes a column;
// otherwise neighbouring threads compute neighbouring columns.
#pragma once

#include "matmul.hpp"

namespace tenon::gpu {

enum class ThinShape { kAlongK, kAlongColumns };

inline constexpr uint32_t kThinThreads = kBlockThreads;
inline constexpr uint32_t kThinTeams = 4;     // in a block, one column each
inline constexpr uint32_t kThinColumns = 64;  // in a block

GPU_FN int64_t thin_blocks(ThinShape shape, int64_t n) {
  const int64_t columns = shape == ThinShape::kAlongK ? int64_t{kThinTeams} : int64_t{kThinColumns};
  return (n + columns - 1) / columns;
}

#if !defined(TENON_GPU_HOST_ONLY)

// Calls put(row, column, sum) for the columns of this block. Reads a and b along k.
template <class T, uint32_t kRows, class Put>
GPU_DEVICE void thin_along_k(const Matrix<T>& a, const Matrix<T>& b, uint32_t block, uint32_t k,
                             uint32_t end, const Put& put) {
  using C = Compute<T>;
  constexpr uint32_t kN = Matrix<T>::kTogether, kTeam = kThinThreads / kThinTeams, kHalf = 32;
  const uint32_t t = thread_index().x, column = block * kThinTeams + t / kTeam;
  C sums[kRows] = {};
  for (uint32_t p = k + t % kTeam * kN; p < end; p += kTeam * kN) {
    const Vec<C, kN> right = b.fetch(column, p, end);
    GPU_UNROLL for (uint32_t r = 0; r < kRows; ++r) {
      if (r >= a.size) continue;
      const Vec<C, kN> left = a.fetch(r, p, end);
      GPU_UNROLL for (uint32_t e = 0; e < kN; ++e) sums[r] += left.at[e] * right.at[e];
    }
  }
  // A team is one or two warps.
  GPU_SHARED(C, halves, kRows * kThinThreads / kHalf);
  sync_threads();
  GPU_UNROLL for (uint32_t r = 0; r < kRows; ++r) {
    for (uint32_t other = kHalf / 2; other > 0; other /= 2) sums[r] += shuffle_xor(sums[r], other);
    if (t % kHalf == 0) halves[r * (kThinThreads / kHalf) + t / kHalf] = sums[r];
  }
  sync_threads();
  if (t % kTeam != 0 || column >= b.size) return;
  for (uint32_t r = 0; r < kRows && r < a.size; ++r) {
    const uint32_t at = r * (kThinThreads / kHalf) + t / kHalf;
    const C first = halves[at], second = halves[at + 1];
    put(r, column, first + second);
  }
}

// The same, reading b along its columns. Slices of the block divide the products.
template <class T, uint32_t kRows, class Put>
GPU_DEVICE void thin_along_columns(const Matrix<T>& a, const Matrix<T>& b, uint32_t block,
                                   uint32_t k, uint32_t end, const Put& put) {
  using C = Compute<T>;
  constexpr uint32_t kN = Matrix<T>::kTogether, kAcross = kThinColumns / kN,
                     kSlices = kThinThreads / kAcross;
  const uint32_t t = thread_index().x, first = block * kThinColumns, slice = t / kAcross;
  C sums[kRows * kN] = {};
  for (uint32_t p = k + slice; p < end; p += kSlices) {
    const Vec<C, kN> right = b.fetch(first + t % kAcross * kN, p, end);
    GPU_UNROLL for (uint32_t r = 0; r < kRows; ++r) {
      if (r >= a.size) continue;
      const C left = load<T>(a.at, r * a.step + p * a.k_step);
      GPU_UNROLL for (uint32_t e = 0; e < kN; ++e) sums[r * kN + e] += left * right.at[e];
    }
  }
  GPU_SHARED(C, parts, kSlices * kRows * kThinColumns);
  sync_threads();
  GPU_UNROLL for (uint32_t i = 0; i < kRows * kN; ++i)
      parts[(slice * kRows + i / kN) * kThinColumns + t % kAcross * kN + i % kN] = sums[i];
  sync_threads();
  const uint32_t row = t / kThinColumns, column = first + t % kThinColumns;
  if (row >= kRows || row >= a.size || column >= b.size) return;
  C sum = C(0);
  for (uint32_t s = 0; s < kSlices; ++s)
    sum += parts[(s * kRows + row) * kThinColumns + t % kThinColumns];
  put(row, column, sum);
}

#endif

}  // namespace tenon::gpu
