#include "transform_includes.hpp"

#define pocketfft pocketfft_baseline
#define TN_FFT_POCKET pocketfft_baseline
#define TN_FFT_TABLE baseline_transforms
#include "transform-inl.hpp"

namespace tenon::fft {

const Transforms& transforms() {
#if defined(__x86_64__)
  static const bool wide =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (wide) return avx2_transforms();
#endif
  return baseline_transforms();
}

}  // namespace tenon::fft
