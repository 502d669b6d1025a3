// The dialect that nvcc, hipcc and the host simulator share: kernel sources include this and name nothing of a vendor.
//
//   template <class T>
//   GPU_KERNEL twice(Ptr<const T> x, Ptr<T> y, uint32_t n) {
//     GPU_SHARED(T, tile, 256);                       // an array in shared memory
//     for (uint32_t i = first_thread(); i < n; i += thread_count()) y[i] = x[i] + x[i];
//   }
//   launch(call, {blocks, 256}, twice<float>, in<float>(x), out<float>(y), n);
//
// GPU_SHARED arrays are aligned to 16 bytes; GPU_UNROLL stands before a loop whose arrays shall stay in registers.
// Blocks of a GPU_KERNEL have at most kBlockThreads; GPU_SIZED_KERNEL(threads, name, parameters…) says how many its own have at
// most. Compilers share registers out by that; the simulator refuses larger blocks.
// Ptr<T> is T* on a device; the simulator checks what is done through it. Warps are warp_width() wide: 32 or 64, never assumed.
// Warp functions are called by all threads of a warp together, and blocks are multiples of kMostLanes.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "dim.hpp"

namespace tenon::gpu {

// The widest warp, for arrays with an entry for each warp or lane of a block.
inline constexpr uint32_t kMostLanes = 64;
inline constexpr uint32_t kMostWarps = kMostThreads / 32;

// N elements that are loaded and stored as one, aligned to their total size.
template <class T, uint32_t N>
struct alignas(sizeof(T) * N) Vec {
  T at[N];
};

}  // namespace tenon::gpu

#if defined(TENON_GPU_SIM)
#include "sim/device.hpp"
#elif defined(__CUDACC__) || defined(__HIP__)
#include "portable_device.hpp"
#else
#define GPU_FN inline  // for host-only sources
#define TENON_GPU_HOST_ONLY
#endif

#if !defined(TENON_GPU_HOST_ONLY)
namespace tenon::gpu {

// The index of this thread in a one-dimensional launch, and the number of threads.
GPU_DEVICE uint32_t first_thread() { return block_index().x * block_size().x + thread_index().x; }
GPU_DEVICE uint32_t thread_count() { return block_count().x * block_size().x; }
GPU_DEVICE uint32_t lane() { return thread_index().x % warp_width(); }
GPU_DEVICE uint32_t warp() { return thread_index().x / warp_width(); }

}  // namespace tenon::gpu
#endif
