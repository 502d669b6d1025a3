#include "transform_includes.hpp"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#define __AVX__ 1  // by which pocketfft knows the length of a vector; GCC's pragma sets it
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define pocketfft pocketfft_avx2
#define TN_FFT_POCKET pocketfft_avx2
#define TN_FFT_TABLE avx2_transforms
#include "transform-inl.hpp"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
