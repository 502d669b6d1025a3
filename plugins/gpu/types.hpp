// Element types in memory, and the types they are computed in: float for halves, int32_t for small integers and bool.
#pragma once

#include "portable.hpp"
#include "tenon/dtype.h"
#include "tenon/float_formats.h"

namespace tenon::gpu {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

template <class T>
inline constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class T>
struct ComputeOf {
  using type =
      std::conditional_t<kIsFloat<T>, float, std::conditional_t<(sizeof(T) < 4), int32_t, T>>;
};
template <>
struct ComputeOf<double> {
  using type = double;
};
template <class T>
using Compute = typename ComputeOf<std::remove_const_t<T>>::type;

template <class To, class From>
GPU_FN To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <class T>
GPU_FN Compute<T> widen(T value) {
  return static_cast<Compute<T>>(value);
}
template <>
GPU_FN float widen(Half value) {
  return half_to_float(value.bits);
}
template <>
GPU_FN float widen(BFloat16 value) {
  return tn_bf16_to_f32(value.bits);
}

// The nearest value of T, ties to even. Integers wrap; bool is whether it is not 0.
template <class T, class C>
GPU_FN T narrow(C value) {
  if constexpr (std::is_same_v<T, Half>) {
    return {float_to_half(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return {tn_f32_to_bf16(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != C(0);
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
GPU_FN Compute<T> load(Ptr<const T> from, int64_t i) {
  return widen<T>(from[i]);
}
template <class T, class C>
GPU_FN void store(Ptr<T> to, int64_t i, C value) {
  to[i] = narrow<T>(value);
}

// ---- Choosing an instance by dtype --------------------------------------------------------------------------------------

template <class T>
inline constexpr tn_dtype kDtype = std::is_same_v<T, bool>       ? TN_DTYPE_BOOL
                                   : std::is_same_v<T, uint8_t>  ? TN_DTYPE_U8
                                   : std::is_same_v<T, uint16_t> ? TN_DTYPE_U16
                                   : std::is_same_v<T, uint32_t> ? TN_DTYPE_U32
                                   : std::is_same_v<T, uint64_t> ? TN_DTYPE_U64
                                   : std::is_same_v<T, int8_t>   ? TN_DTYPE_I8
                                   : std::is_same_v<T, int16_t>  ? TN_DTYPE_I16
                                   : std::is_same_v<T, int32_t>  ? TN_DTYPE_I32
                                   : std::is_same_v<T, int64_t>  ? TN_DTYPE_I64
                                   : std::is_same_v<T, Half>     ? TN_DTYPE_F16
                                   : std::is_same_v<T, BFloat16> ? TN_DTYPE_BF16
                                   : std::is_same_v<T, float>    ? TN_DTYPE_F32
                                                                 : TN_DTYPE_F64;

template <class... T>
struct Types {
  static constexpr uint64_t kMask = (uint64_t{0} | ... | TN_MASK(kDtype<T>));
};
template <class A, class B>
struct JoinTypes;
template <class... A, class... B>
struct JoinTypes<Types<A...>, Types<B...>> {
  using type = Types<A..., B...>;
};
template <class A, class B>
using Join = typename JoinTypes<A, B>::type;

using Floats = Types<Half, BFloat16, float, double>;
using Ints = Types<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t>;
using Whole = Join<Ints, Types<bool>>;
using Reals = Join<Floats, Ints>;
using All = Join<Floats, Whole>;
// For kernels that only move elements: by size. 16 bytes separately.
inline constexpr uint64_t kMovable = All::kMask | TN_MASK(TN_DTYPE_C64) | TN_MASK_F8;
inline constexpr uint64_t kMovableAll = TN_MASK_ALL | TN_MASK_F8;
// Elements of a given size, if neither arithmetic nor sign matters.
using Sizes = Types<uint8_t, uint16_t, uint32_t, uint64_t>;

template <class T>
struct TypeTag {
  using type = T;
};

// Calls fn(TypeTag<T>) with the type in the list that has this dtype; false if none has.
template <class... T, class Fn>
bool with_type(Types<T...>, tn_dtype dtype, Fn&& fn) {
  return ((kDtype<T> == dtype ? (fn(TypeTag<T>{}), true) : false) || ...);
}

}  // namespace tenon::gpu
