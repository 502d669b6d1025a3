// Numbers among operands: they are weak, so `x_f16 * 2.0` stays f16 and `x_u8 + 1` stays u8.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "dispatch/scalar.hpp"
#include "ops/operands.hpp"

namespace tenon::core {

enum class Kind : uint8_t { Bool, Int, Float, Complex };

inline Kind kind_of(tn_dtype dtype) {
  if (dtype == TN_DTYPE_BOOL) return Kind::Bool;
  if (is_integral(dtype)) return Kind::Int;
  return is_complex(dtype) ? Kind::Complex : Kind::Float;
}
inline Kind kind_of(const tn_value& number) { return kind_of(default_dtype(number)); }

// The dtype a number has when nothing else decides.
inline tn_dtype default_dtype(Kind kind) {
  constexpr tn_dtype kDefaults[] = {TN_DTYPE_BOOL, TN_DTYPE_I64, TN_DTYPE_F32, TN_DTYPE_C64};
  return kDefaults[static_cast<size_t>(kind)];
}

// `dtype` if it can hold numbers of that kind, otherwise the nearest that can.
inline tn_dtype raised(tn_dtype dtype, Kind kind) {
  if (kind_of(dtype) >= kind) return dtype;
  if (kind == Kind::Complex) return dtype == TN_DTYPE_F64 ? TN_DTYPE_C128 : TN_DTYPE_C64;
  return default_dtype(kind);
}

// Whether an integer fits the dtype; dtypes that are not integers hold any.
inline bool holds(tn_dtype dtype, int64_t value) {
  const bool is_signed = (TN_MASK(dtype) & TN_MASK_SIGNED) != 0;
  if (!is_integral(dtype)) return true;
  const auto bits = static_cast<uint32_t>(8 * dtype_size(dtype));
  if (bits == 64) return is_signed || value >= 0;
  const int64_t above = int64_t{1} << (is_signed ? bits - 1 : bits);
  return value >= (is_signed ? -above : 0) && value < above;
}

inline void require_holds(const Frame& frame, tn_dtype dtype, const tn_value& number) {
  if (number.tag == TN_VALUE_INT && !holds(dtype, number.as.i)) [[unlikely]]
    frame.fail(TN_OUT_OF_RANGE, "number {} does not fit {}", number.as.i, dtype_name(dtype));
}

// The common dtype of some arguments: tensors are promoted as the Array API says, then numbers raise the kind if they must.
inline tn_dtype common_dtype(const Frame& frame, std::span<const uint32_t> operands) {
  tn_dtype dtype = kNoCast;
  Kind kind = Kind::Bool;
  bool numbers = false;
  const auto join = [&](const tn_tensor* tensor) {
    if (tensor == nullptr || tensor->dtype() == dtype) return;
    dtype = dtype == kNoCast ? tensor->dtype() : promote(dtype, tensor->dtype());
  };
  for (const uint32_t i : operands) {
    if (frame.is_tensor(i)) {
      join(&frame.tensor(i));
    } else if (frame.arg(i).tag == TN_VALUE_TENSORS) {
      for (const tn_tensor* entry : frame.tensors(i)) join(entry);
    } else if (frame.has(i)) {
      kind = std::max(kind, kind_of(frame.arg(i)));
      numbers = true;
    }
  }
  if (!numbers) return dtype;
  dtype = dtype == kNoCast ? default_dtype(kind) : raised(dtype, kind);
  for (const uint32_t i : operands)
    if (is_number(frame.arg(i))) require_holds(frame, dtype, frame.arg(i));
  return dtype;
}
inline tn_dtype common_dtype(const Frame& frame, uint32_t x, uint32_t y) {
  return common_dtype(frame, std::array{x, y});
}

// The dtype in which operands are compared: integers that meet a number beyond their dtype are so in a wider one.
inline tn_dtype compared_dtype(const Frame& frame, uint32_t x, uint32_t y) {
  const auto is_beyond = [&](uint32_t number, uint32_t tensor) {
    return frame.arg(number).tag == TN_VALUE_INT && frame.is_tensor(tensor) &&
           !holds(frame.tensor(tensor).dtype(), frame.arg(number).as.i);
  };
  for (const auto& [number, tensor] : {std::pair(x, y), std::pair(y, x)})
    if (is_beyond(number, tensor)) [[unlikely]]  // a negative number, if it meets u64
      return frame.tensor(tensor).dtype() == TN_DTYPE_U64 ? TN_DTYPE_F64 : TN_DTYPE_I64;
  return common_dtype(frame, x, y);
}

// The error of an elementwise op for a common dtype that it does not support.
[[noreturn]] inline void refuse(const Frame& frame, tn_dtype dtype, std::string_view wanted) {
  frame.fail(TN_INVALID_ARGUMENT, "operands have dtype {}, {} wanted", dtype_name(dtype), wanted);
}

// The common dtype, which must not be bool.
inline tn_dtype common_number(const Frame& frame, uint32_t x, uint32_t y) {
  const tn_dtype dtype = common_dtype(frame, x, y);
  if (dtype == TN_DTYPE_BOOL) [[unlikely]]
    refuse(frame, dtype, "a numeric dtype");
  return dtype;
}

// The common dtype, which must be real and not bool.
inline tn_dtype common_real_number(const Frame& frame, uint32_t x, uint32_t y) {
  const tn_dtype dtype = common_number(frame, x, y);
  frame.require(!is_complex(dtype), "not defined for complex numbers");
  return dtype;
}

// The common dtype of fractions: integers and bool become f32.
inline tn_dtype common_fraction(const Frame& frame, uint32_t x, uint32_t y) {
  return fractional(common_dtype(frame, x, y));
}
inline tn_dtype common_real_fraction(const Frame& frame, uint32_t x, uint32_t y) {
  const tn_dtype dtype = common_fraction(frame, x, y);
  if (is_complex(dtype)) [[unlikely]]
    refuse(frame, dtype, "a real dtype");
  return dtype;
}

// An elementwise op of x alone, computed in `dtype`, to which x is converted if it has another.
inline void unary(Frame& frame, uint32_t x, tn_dtype dtype) {
  if (frame.tensor(x).dtype() != dtype) frame.cast(x, dtype);
  elementwise(frame, dtype);
}

// An elementwise op with all operands in `dtype`; the result is in `dtype` too, or in `out`.
inline void binary(Frame& frame, tn_dtype dtype, tn_dtype out) {
  frame.cast_all(dtype);
  elementwise(frame, out);
}
inline void binary(Frame& frame, tn_dtype dtype) { binary(frame, dtype, dtype); }

inline bool in_mask(tn_dtype dtype, uint64_t mask) { return (mask & TN_MASK(dtype)) != 0; }

// The real dtype of a complex dtype's parts; other dtypes stay.
inline tn_dtype real_part(tn_dtype dtype) {
  return dtype == TN_DTYPE_C64 ? TN_DTYPE_F32 : dtype == TN_DTYPE_C128 ? TN_DTYPE_F64 : dtype;
}

}  // namespace tenon::core
