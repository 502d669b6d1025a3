// Marks functions that the CPU and GPUs share. A GPU build defines GPU_FN before it includes this header.
#ifndef TENON_PLUGINS_COMMON_HOST_DEVICE_HPP
#define TENON_PLUGINS_COMMON_HOST_DEVICE_HPP

#ifdef GPU_FN
#define TENON_SHARED_FN GPU_FN
#define TENON_SHARED_INLINE_FN GPU_FN
#else
#define TENON_SHARED_FN inline
// Inlined into loops for any instruction set, so that it rounds as they do (products fused into sums).
#define TENON_SHARED_INLINE_FN inline __attribute__((always_inline))
#endif

#endif
