// Element types, and the C++ types that hold them.
#ifndef TENON_DTYPE_HPP
#define TENON_DTYPE_HPP

#include <complex>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "tenon/dtype.h"
#include "tenon/error.hpp"
#include "tenon/float_formats.h"

namespace tenon {

enum class DType : uint32_t {
  Bool = TN_DTYPE_BOOL,
  U8 = TN_DTYPE_U8,
  U16 = TN_DTYPE_U16,
  U32 = TN_DTYPE_U32,
  U64 = TN_DTYPE_U64,
  I8 = TN_DTYPE_I8,
  I16 = TN_DTYPE_I16,
  I32 = TN_DTYPE_I32,
  I64 = TN_DTYPE_I64,
  F16 = TN_DTYPE_F16,
  BF16 = TN_DTYPE_BF16,
  F32 = TN_DTYPE_F32,
  F64 = TN_DTYPE_F64,
  C64 = TN_DTYPE_C64,
  C128 = TN_DTYPE_C128,
  F8E4M3 = TN_DTYPE_F8_E4M3,
  F8E5M2 = TN_DTYPE_F8_E5M2,
};

inline uint64_t size_of(DType dtype) { return tn_dtype_size(static_cast<tn_dtype>(dtype)); }
inline std::string_view name_of(DType dtype) {
  return detail::to_view(tn_dtype_name(static_cast<tn_dtype>(dtype)));
}
// The dtype of a name ("f32", "float32"); throws Error(TN_NOT_FOUND).
inline DType find_dtype(std::string_view name) {
  tn_dtype dtype = 0;
  detail::check(tn_dtype_find(detail::to_str(name), &dtype));
  return static_cast<DType>(dtype);
}
// The common dtype of two by the Array API's promotion table. Throws if the standard leaves it open.
inline DType promote(DType a, DType b) {
  tn_dtype dtype = 0;
  detail::check(tn_dtype_promote(static_cast<tn_dtype>(a), static_cast<tn_dtype>(b), &dtype));
  return static_cast<DType>(dtype);
}
// The masks are C, with casts of C.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
constexpr bool is_floating(DType dtype) {
  return (TN_MASK(static_cast<uint32_t>(dtype)) & TN_MASK_FLOAT) != 0;
}
// For the 8-bit floats, which have no arithmetic; is_floating is false for them.
constexpr bool is_float8(DType dtype) {
  return (TN_MASK(static_cast<uint32_t>(dtype)) & TN_MASK_F8) != 0;
}
constexpr bool is_complex(DType dtype) {
  return (TN_MASK(static_cast<uint32_t>(dtype)) & TN_MASK_COMPLEX) != 0;
}
constexpr bool is_integral(DType dtype) {
  return (TN_MASK(static_cast<uint32_t>(dtype)) & TN_MASK_INT) != 0;
}
constexpr bool is_signed(DType dtype) {
  return !(TN_MASK(static_cast<uint32_t>(dtype)) & (TN_MASK_UNSIGNED | TN_MASK_BOOL));
}
#pragma GCC diagnostic pop

// Storage types that convert by tenon/float_formats.h, rounding to nearest even: IEEE 754 binary16, and the upper half of binary32.
struct F16 {
  uint16_t bits = 0;
  F16() = default;
  explicit F16(float value) : bits(tn_f32_to_f16(value)) {}
  operator float() const { return tn_f16_to_f32(bits); }
};
struct BF16 {
  uint16_t bits = 0;
  BF16() = default;
  explicit BF16(float value) : bits(tn_f32_to_bf16(value)) {}
  operator float() const { return tn_bf16_to_f32(bits); }
};

// The same for the 8-bit floats of the OCP specification (v1.0). What is too large becomes NaN in E4M3, which has no infinity, and infinity
// in E5M2.
template <uint32_t kMantissa>
struct Float8 {
  static_assert(kMantissa == 2 || kMantissa == 3);
  uint8_t bits = 0;
  Float8() = default;
  explicit Float8(float value)
      : bits(kMantissa == 3 ? tn_f32_to_f8_e4m3(value) : tn_f32_to_f8_e5m2(value)) {}
  operator float() const {
    return kMantissa == 3 ? tn_f8_e4m3_to_f32(bits) : tn_f8_e5m2_to_f32(bits);
  }
};
using F8E4M3 = Float8<3>;
using F8E5M2 = Float8<2>;

namespace detail {
template <class T>
constexpr DType dtype_of_impl() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::Bool;
  else if constexpr (std::is_same_v<T, F16>)
    return DType::F16;
  else if constexpr (std::is_same_v<T, BF16>)
    return DType::BF16;
  else if constexpr (std::is_same_v<T, F8E4M3>)
    return DType::F8E4M3;
  else if constexpr (std::is_same_v<T, F8E5M2>)
    return DType::F8E5M2;
  else if constexpr (std::is_same_v<T, float>)
    return DType::F32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::F64;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return DType::C64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return DType::C128;
  else {
    static_assert(std::is_integral_v<T>, "no dtype holds this type");
    constexpr uint32_t step = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<DType>((std::is_signed_v<T> ? TN_DTYPE_I8 : TN_DTYPE_U8) + step);
  }
}

// As astype: towards zero, kept within the range of To, 0 for NaN. A plain cast is undefined there.
template <class To>
To saturated(double value) {
  if (value != value) return 0;
  if (value <= static_cast<double>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (value >= static_cast<double>(std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <class T>
inline constexpr bool kInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool kComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// An element as one of another dtype; `where` begins the error's text.
template <class To, class From>
To convert(const From& from, const char* where) {
  if constexpr (kInteger<To> && !std::is_integral_v<From> && std::is_convertible_v<From, double>)
    return saturated<To>(static_cast<double>(from));
  else if constexpr (kComplex<To> && std::is_convertible_v<From, double>)
    return static_cast<typename To::value_type>(from);
  else if constexpr (std::is_convertible_v<From, To>)
    return static_cast<To>(from);
  else if constexpr (std::is_constructible_v<To, float> && std::is_convertible_v<From, float>)
    return To(static_cast<float>(from));
  else
    throw Error(
        TN_INVALID_ARGUMENT,
        '[' + std::string(where) + "] a complex number read as a real one: take real() first");
}
}  // namespace detail

// The dtype whose elements are T.
template <class T>
inline constexpr DType dtype_of = detail::dtype_of_impl<std::remove_cv_t<T>>();

// Calls fn with a value of the dtype's C++ type: visit(dtype, [&]<class T>(T) { … }).
template <class Fn>
decltype(auto) visit(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::Bool:
      return fn(bool{});
    case DType::U8:
      return fn(uint8_t{});
    case DType::U16:
      return fn(uint16_t{});
    case DType::U32:
      return fn(uint32_t{});
    case DType::U64:
      return fn(uint64_t{});
    case DType::I8:
      return fn(int8_t{});
    case DType::I16:
      return fn(int16_t{});
    case DType::I32:
      return fn(int32_t{});
    case DType::I64:
      return fn(int64_t{});
    case DType::F16:
      return fn(F16{});
    case DType::BF16:
      return fn(BF16{});
    case DType::F32:
      return fn(float{});
    case DType::F64:
      return fn(double{});
    case DType::C64:
      return fn(std::complex<float>{});
    case DType::C128:
      return fn(std::complex<double>{});
    case DType::F8E4M3:
      return fn(F8E4M3{});
    case DType::F8E5M2:
      return fn(F8E5M2{});
  }
  throw Error(TN_INVALID_ARGUMENT,
              "unknown dtype code " + std::to_string(static_cast<uint32_t>(dtype)));
}

}  // namespace tenon
#endif
