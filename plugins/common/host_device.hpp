// How functions that the CPU and GPUs share are marked: GPU_FN says it for GPUs, and stands before this header.
#ifndef TENON_PLUGINS_COMMON_HOST_DEVICE_HPP
#define TENON_PLUGINS_COMMON_HOST_DEVICE_HPP

#ifdef GPU_FN
#define TENON_SHARED_FN GPU_FN
#define TENON_SHARED_INLINE_FN GPU_FN
#else
#define TENON_SHARED_FN inline
// Into loops for any instruction set, whose rounding (products fused into sums) it takes.
#define TENON_SHARED_INLINE_FN inline __attribute__((always_inline))
#endif

#endif
