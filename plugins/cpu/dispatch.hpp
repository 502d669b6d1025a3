// From a tn_dtype to a C++ type and back.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "barrier.hpp"
#include "half.hpp"
#include "tenon/dtype.h"

namespace tenon::cpu {

template <class T>
struct Tag {
  using type = T;
};

// The code of a C++ type.
template <class T>
inline constexpr tn_dtype kDtype = TN_DTYPE_COUNT;
// clang-format off
#define TENON_CPU_DTYPES(X)                                                                       \
  X(TN_DTYPE_BOOL, bool)                                                                          \
  X(TN_DTYPE_U8, uint8_t)                                                                         \
  X(TN_DTYPE_U16, uint16_t) X(TN_DTYPE_U32, uint32_t) X(TN_DTYPE_U64, uint64_t)                   \
      X(TN_DTYPE_I8, int8_t) X(TN_DTYPE_I16, int16_t) X(TN_DTYPE_I32, int32_t)                    \
          X(TN_DTYPE_I64, int64_t) X(TN_DTYPE_F16, F16) X(TN_DTYPE_BF16, BF16)                    \
              X(TN_DTYPE_F32, float) X(TN_DTYPE_F64, double) X(TN_DTYPE_C64, std::complex<float>) \
                  X(TN_DTYPE_C128, std::complex<double>) X(TN_DTYPE_F8_E4M3, F8E4M3)              \
                      X(TN_DTYPE_F8_E5M2, F8E5M2)
// clang-format on
#define TENON_CPU_CODE(code, T) \
  template <>                   \
  inline constexpr tn_dtype kDtype<T> = code;
TENON_CPU_DTYPES(TENON_CPU_CODE)
#undef TENON_CPU_CODE

template <class T>
inline constexpr bool is_half_v = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <class T>
inline constexpr bool is_float8_v = std::is_same_v<T, F8E4M3> || std::is_same_v<T, F8E5M2>;
template <class T>
inline constexpr bool is_complex_v =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T>
inline constexpr bool is_float_v = is_half_v<T> || std::is_floating_point_v<T>;
template <class T>
inline constexpr bool is_int_v = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// What arithmetic on T happens in: f32 for what is narrower, T otherwise.
template <class T>
using Compute = std::conditional_t<is_half_v<T> || is_float8_v<T>, float, T>;
// What a long sum over T is kept in.
template <class T>
using Accumulator = std::conditional_t<
    is_half_v<T>, float,
    std::conditional_t<std::is_same_v<T, bool> || (is_int_v<T> && std::is_signed_v<T>), int64_t,
                       std::conditional_t<is_int_v<T>, uint64_t, T>>>;

// visit(Tag<T>{}) for the C++ type of `dtype`, among those of Mask; throws for others.
template <uint64_t Mask = TN_MASK_ALL, class Visit>
inline auto visit_dtype(tn_dtype dtype, Visit&& visit) {
  switch (dtype) {
#define TENON_CPU_CASE(code, T)                                        \
  case code:                                                           \
    if constexpr ((Mask & TN_MASK(code)) != 0) return visit(Tag<T>{}); \
    break;
    TENON_CPU_DTYPES(TENON_CPU_CASE)
#undef TENON_CPU_CASE
    default:
      break;
  }
  fail(TN_INTERNAL, "the CPU plugin has no code for dtype %u here", dtype);
}

// Of kernels that only move elements, or only read numbers into them.
inline constexpr uint64_t kMovable = TN_MASK_ALL | TN_MASK_F8;

// visit(Tag<uintN>{}) by element size, for work that only moves elements; 16 bytes come as Bytes16.
struct Bytes16 {
  uint64_t low, high;
};
template <class Visit>
inline auto visit_size(uint64_t size, Visit&& visit) {
  switch (size) {
    case 1:
      return visit(Tag<uint8_t>{});
    case 2:
      return visit(Tag<uint16_t>{});
    case 4:
      return visit(Tag<uint32_t>{});
    case 8:
      return visit(Tag<uint64_t>{});
    case 16:
      return visit(Tag<Bytes16>{});
    default:
      fail(TN_INTERNAL, "the CPU plugin has no code for elements of %u bytes",
           static_cast<unsigned>(size));
  }
}

inline uint32_t size_of(tn_dtype dtype) {
  constexpr uint8_t kSizes[TN_DTYPE_COUNT] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1};
  return dtype < TN_DTYPE_COUNT ? kSizes[dtype] : 0;
}

}  // namespace tenon::cpu
