// Fourier transforms of strided arrays along some dimensions. The same source is compiled for several instruction sets.
#pragma once

#include <complex>
#include <cstdint>
#include <span>

namespace tenon::fft {

// One call. Strides are in elements; `out` is contiguous. dims are from the front, the one that is half as long last.
struct Job {
  const void* in;
  void* out;
  std::span<const int64_t> shape;    // of the longer side: of both for c2c, the real one otherwise
  std::span<const int64_t> strides;  // of `in`
  std::span<const int64_t> dims;
  bool forward;  // exp(-i…)
  double scale;  // what results are multiplied by
  // What those entries of the halved dimension are multiplied by as well that stand for two: all
  // but the first, and the last of an even size.
  double inner;
};

// For float (0) and double (1).
struct Transforms {
  void (*c2c[2])(const Job& job);
  void (*r2c[2])(const Job& job);
  void (*c2r[2])(const Job& job);
};

const Transforms& baseline_transforms();
#if defined(__x86_64__)
const Transforms& avx2_transforms();
#endif
// Of the best instruction set that this machine has.
const Transforms& transforms();

}  // namespace tenon::fft
