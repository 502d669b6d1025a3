// portable.hpp for nvcc and hipcc: everything that the vendors name differently.
#pragma once

#include "backend.hpp"

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <cuda_fp16.h>
#endif

#define GPU_FN __host__ __device__ inline
#define GPU_DEVICE __device__ inline
#define GPU_KERNEL __global__ void __launch_bounds__(::tenon::gpu::kBlockThreads)
#define GPU_SIZED_KERNEL(threads, name, ...) \
  __global__ void __launch_bounds__((threads)) name(__VA_ARGS__)
#define GPU_SHARED(T, name, count) __shared__ __align__(16) T name[count]
#define GPU_UNROLL _Pragma("unroll")  // of a loop over an array that is to stay in registers
#define GPU_DYNAMIC_SHARED(T, name)                           \
  extern __shared__ __align__(16) unsigned char gpu_shared[]; \
  T* const name = reinterpret_cast<T*>(gpu_shared)

namespace tenon::gpu {

#if defined(__HIP__)
using DeviceStream = hipStream_t;
#else
using DeviceStream = cudaStream_t;
#endif

template <class T>
using Ptr = T*;
// The same memory as elements of another type. Not for shared memory.
template <class To, class From>
GPU_FN To* ptr_cast(From* from) {
  return reinterpret_cast<To*>(from);
}

GPU_DEVICE Dim thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
GPU_DEVICE Dim block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
GPU_DEVICE Dim block_size() { return {blockDim.x, blockDim.y, blockDim.z}; }
GPU_DEVICE Dim block_count() { return {gridDim.x, gridDim.y, gridDim.z}; }
GPU_DEVICE void sync_threads() { __syncthreads(); }

#if defined(__HIP__)
GPU_DEVICE uint32_t warp_width() { return warpSize; }
// The barrier alone does not order memory: without fences the compiler may keep old values.
GPU_DEVICE void sync_warp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
template <class T>
GPU_DEVICE T shuffle(T value, uint32_t from) {
  return __shfl(value, static_cast<int>(from));
}
template <class T>
GPU_DEVICE T shuffle_xor(T value, uint32_t mask) {
  return __shfl_xor(value, static_cast<int>(mask));
}
template <class T>
GPU_DEVICE T shuffle_down(T value, uint32_t by) {
  return __shfl_down(value, by);
}
template <class T>
GPU_DEVICE T shuffle_up(T value, uint32_t by) {
  return __shfl_up(value, by);
}
GPU_DEVICE uint64_t ballot(bool yes) { return __ballot(yes); }
#else
inline constexpr uint32_t kAllLanes = 0xffffffff;
GPU_DEVICE constexpr uint32_t warp_width() { return 32; }
GPU_DEVICE void sync_warp() { __syncwarp(); }
template <class T>
GPU_DEVICE T shuffle(T value, uint32_t from) {
  return __shfl_sync(kAllLanes, value, static_cast<int>(from));
}
template <class T>
GPU_DEVICE T shuffle_xor(T value, uint32_t mask) {
  return __shfl_xor_sync(kAllLanes, value, static_cast<int>(mask));
}
template <class T>
GPU_DEVICE T shuffle_down(T value, uint32_t by) {
  return __shfl_down_sync(kAllLanes, value, by);
}
template <class T>
GPU_DEVICE T shuffle_up(T value, uint32_t by) {
  return __shfl_up_sync(kAllLanes, value, by);
}
GPU_DEVICE uint64_t ballot(bool yes) { return __ballot_sync(kAllLanes, yes); }
#endif

// Each returns the old value.
GPU_DEVICE uint32_t atomic_cas(uint32_t* at, uint32_t expected, uint32_t value) {
  return atomicCAS(at, expected, value);
}
GPU_DEVICE uint64_t atomic_cas(uint64_t* at, uint64_t expected, uint64_t value) {
  return atomicCAS(reinterpret_cast<unsigned long long*>(at), expected, value);
}
GPU_DEVICE int32_t atomic_add(int32_t* at, int32_t value) { return atomicAdd(at, value); }
GPU_DEVICE uint32_t atomic_add(uint32_t* at, uint32_t value) { return atomicAdd(at, value); }
GPU_DEVICE float atomic_add(float* at, float value) { return atomicAdd(at, value); }
GPU_DEVICE uint64_t atomic_add(uint64_t* at, uint64_t value) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(at), value);
}

// For stores that several threads may make to one address.
GPU_DEVICE void atomic_set(uint32_t* at, uint32_t value) { atomicExch(at, value); }
GPU_DEVICE uint32_t atomic_max(uint32_t* at, uint32_t value) { return atomicMax(at, value); }

GPU_DEVICE uint32_t bits_set(uint64_t bits) { return static_cast<uint32_t>(__popcll(bits)); }

// N elements at once; `at` is aligned to all of them.
template <uint32_t N, class T>
GPU_DEVICE Vec<std::remove_const_t<T>, N> load_vec(T* at) {
  return *reinterpret_cast<const Vec<std::remove_const_t<T>, N>*>(at);
}
template <uint32_t N, class T>
GPU_DEVICE void store_vec(T* at, const Vec<T, N>& value) {
  *reinterpret_cast<Vec<T, N>*>(at) = value;
}

// A product that is rounded before it is added, so never fused.
template <class R>
GPU_FN R rounded_product(R x, R y) {
#if defined(__HIP__)
#pragma clang fp contract(off)
  return x * y;
#elif defined(__CUDA_ARCH__)
  if constexpr (sizeof(R) == 4)
    return __fmul_rn(x, y);
  else
    return __dmul_rn(x, y);
#else
  return x * y;
#endif
}

// The bits of binary16 as a float, and back to nearest even.
#if defined(__HIP__)
GPU_FN float half_to_float(uint16_t bits) {
  _Float16 half;
  __builtin_memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
}
GPU_FN uint16_t float_to_half(float value) {
  const auto half = static_cast<_Float16>(value);
  uint16_t bits;
  __builtin_memcpy(&bits, &half, sizeof bits);
  return bits;
}
#else
GPU_FN float half_to_float(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
GPU_FN uint16_t float_to_half(float value) { return __half_as_ushort(__float2half_rn(value)); }
#endif

// ---- On the host --------------------------------------------------------------------------------------------------------

// Throws sdk::Error if the last launch was refused. Defined by the vendor's runtime.cpp.
void check_launch();

template <class... P, class... A>
void run_grid(Stream& stream, Dim blocks, Dim threads, uint32_t shared_bytes, void (*kernel)(P...),
              const A&... args) {
  kernel<<<dim3(blocks.x, blocks.y, blocks.z), dim3(threads.x, threads.y, threads.z), shared_bytes,
           static_cast<DeviceStream>(stream.handle())>>>(P(args)...);
  check_launch();
}

template <class T>
Ptr<T> pointer_to(T* first, int64_t offset, int64_t, int64_t) {
  return first + offset;
}

}  // namespace tenon::gpu
