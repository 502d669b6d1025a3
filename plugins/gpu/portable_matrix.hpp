// The vendors' matrix units: products of 16 × 16 matrices of half types that a warp holds, with sums in f32. matrix.hpp says which
// elements a lane has. Separate from portable.hpp, so that kernels without products need not be recompiled when it changes.
#pragma once

#include "types.hpp"

namespace tenon::gpu {

// A lane's elements of a matrix that its warp holds: 8 in warps of 32, 4 in warps of 64.
inline constexpr uint32_t kMostShare = 8;
template <class E>
struct alignas(kMostShare * sizeof(E)) Share {
  E at[kMostShare];
};

// Whether kernels that were compiled for an architecture, with warps of `lanes`, have matrix units.
inline bool has_matrix_units([[maybe_unused]] uint32_t code, [[maybe_unused]] uint32_t lanes) {
#if defined(TENON_GPU_SIM)
  return true;
#elif defined(__HIP__)
  return lanes == 64 && code >= 0x90a && code < 0xa00;  // CDNA 2 and later
#else
  return code >= 80;
#endif
}

}  // namespace tenon::gpu

#if defined(TENON_GPU_SIM)
#include "sim/matrix.hpp"
#elif !defined(TENON_GPU_HOST_ONLY)
namespace tenon::gpu {

#if defined(__HIP__)

template <class T>
GPU_DEVICE void multiply_add([[maybe_unused]] const Share<T>& a, [[maybe_unused]] const Share<T>& b,
                             [[maybe_unused]] Share<float>& sums) {
#if defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || \
    defined(__gfx950__)
  using Sums = __attribute__((__vector_size__(4 * sizeof(float)))) float;
  using Shorts = __attribute__((__vector_size__(4 * sizeof(short)))) short;
  using Halves = __attribute__((__vector_size__(4 * sizeof(_Float16)))) _Float16;
  Sums c;
  __builtin_memcpy(&c, sums.at, sizeof c);
  if constexpr (std::is_same_v<T, Half>) {
    Halves left, right;
    __builtin_memcpy(&left, a.at, sizeof left);
    __builtin_memcpy(&right, b.at, sizeof right);
    c = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, c, 0, 0, 0);
  } else {
    Shorts left, right;
    __builtin_memcpy(&left, a.at, sizeof left);
    __builtin_memcpy(&right, b.at, sizeof right);
    c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(left, right, c, 0, 0, 0);
  }
  __builtin_memcpy(sums.at, &c, sizeof c);
#else
  __builtin_trap();  // ruled out by has_matrix_units()
#endif
}

#else

// Two products of 16 × 16 by 16 × 8.
template <class T>
GPU_DEVICE void multiply_add([[maybe_unused]] const Share<T>& a, [[maybe_unused]] const Share<T>& b,
                             [[maybe_unused]] Share<float>& sums) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  uint32_t left[4], right[4];
  __builtin_memcpy(left, a.at, sizeof left);
  __builtin_memcpy(right, b.at, sizeof right);
  GPU_UNROLL for (uint32_t n = 0; n < 2; ++n) {
    float* const c = sums.at + 4 * n;
    if constexpr (std::is_same_v<T, Half>)
      asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
          "{%8,%9}, {%0,%1,%2,%3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[2 * n]),
            "r"(right[2 * n + 1]));
    else
      asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
          "{%8,%9}, {%0,%1,%2,%3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[2 * n]),
            "r"(right[2 * n + 1]));
  }
#else
  __trap();  // ruled out by has_matrix_units()
#endif
}

#endif

}  // namespace tenon::gpu
#endif
