// Stretches of f16 or bf16 to f32 and back, on this thread or over all.
#pragma once

#include <type_traits>

#include "convert.hpp"
#include "half.hpp"
#include "threads.hpp"

namespace tenon::cpu {

template <class T>
void widen_range(const T* from, float* to, int64_t n) {
  const auto bits = reinterpret_cast<const uint16_t*>(from);
  if constexpr (std::is_same_v<T, F16>)
    half_conversions().from_f16(bits, to, n);
  else
    half_conversions().from_bf16(bits, to, n);
}

template <class T>
void round_range(const float* from, T* to, int64_t n) {
  const auto bits = reinterpret_cast<uint16_t*>(to);
  if constexpr (std::is_same_v<T, F16>)
    half_conversions().to_f16(from, bits, n);
  else
    half_conversions().to_bf16(from, bits, n);
}

template <class T>
void widen_all(const T* from, float* to, int64_t n) {
  parallel_for(n, kGrainCopy, [&](int64_t begin, int64_t end) {
    widen_range(from + begin, to + begin, end - begin);
  });
}

template <class T>
void round_all(const float* from, T* to, int64_t n) {
  parallel_for(n, kGrainCopy, [&](int64_t begin, int64_t end) {
    round_range(from + begin, to + begin, end - begin);
  });
}

}  // namespace tenon::cpu
