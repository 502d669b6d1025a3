// Arithmetic of integers and bools. Signed results wrap, division by zero gives 0, shifts by the
// width or more shift everything out; all without traps.
#include <bit>
#include <limits>

#include "kernels.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/binary_integer.cpp"
#include <hwy/foreach_target.h>

#include "simd/map-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
// Arithmetic that wraps: on unsigned numbers of at least 32 bits, since narrower ones are
// promoted to int.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, Unsigned<T>>;
template <class T>
HWY_INLINE Wrapping<T> w(T value) {
  return static_cast<Wrapping<T>>(value);
}

#define TENON_CPU_INT1(Name, expression) \
  struct Name {                          \
    template <class T>                   \
    HWY_INLINE T operator()(T x) const { \
      return static_cast<T>(expression); \
    }                                    \
  };
#define TENON_CPU_INT2(Name, expression)      \
  struct Name {                               \
    template <class T>                        \
    HWY_INLINE T operator()(T x, T y) const { \
      return static_cast<T>(expression);      \
    }                                         \
  };

TENON_CPU_INT1(CopyInt, x)
TENON_CPU_INT1(ZeroInt, T{0} * x)
TENON_CPU_INT1(NegInt, 0 - w(x))
TENON_CPU_INT1(AbsInt, x < 0 ? 0 - w(x) : w(x))
TENON_CPU_INT1(SignInt, (x > 0) - (x < 0))
TENON_CPU_INT1(SquareInt, w(x) * w(x))
TENON_CPU_INT1(ReluInt, x < 0 ? T{0} : x)
TENON_CPU_INT1(NotInt, ~x)
TENON_CPU_INT1(NotBool, x ^ 1)

TENON_CPU_INT2(AddInt, w(x) + w(y))
TENON_CPU_INT2(SubInt, w(x) - w(y))
TENON_CPU_INT2(MulInt, w(x) * w(y))
TENON_CPU_INT2(MaximumInt, x > y ? x : y)
TENON_CPU_INT2(MinimumInt, x < y ? x : y)
TENON_CPU_INT2(AndInt, x& y)
TENON_CPU_INT2(OrInt, x | y)
TENON_CPU_INT2(XorInt, x ^ y)
TENON_CPU_INT2(ReluBackwardInt, y > 0 ? x : T{0})

template <class T>
constexpr int kBits = std::numeric_limits<Unsigned<T>>::digits;
// A negative count is as good as a large one.
TENON_CPU_INT2(LeftShift, static_cast<Unsigned<T>>(y) < static_cast<Unsigned<T>>(kBits<T>)
                              ? w(x) << (y & (kBits<T> - 1))
                              : 0)
TENON_CPU_INT2(RightShift, static_cast<Unsigned<T>>(y) < static_cast<Unsigned<T>>(kBits<T>)
                               ? x >> (y & (kBits<T> - 1))
                               : (x < 0 ? -1 : 0))

// Quotient rounded down and remainder with the divisor's sign, as in Python. Dividing by -1 is a
// negation: the hardware traps at the smallest number.
struct FloorDivideInt {
  template <class T>
  HWY_INLINE T operator()(T x, T y) const {
    if (y == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return static_cast<T>(0 - w(x));
      const T q = static_cast<T>(x / y);
      return static_cast<T>(q - ((x % y != 0) & ((x < 0) != (y < 0))));
    } else {
      return static_cast<T>(x / y);
    }
  }
};
struct RemainderInt {
  template <class T>
  HWY_INLINE T operator()(T x, T y) const {
    if (y == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return 0;
      const T r = static_cast<T>(x % y);
      return static_cast<T>(r != 0 && (r < 0) != (y < 0) ? r + y : r);
    } else {
      return static_cast<T>(x % y);
    }
  }
};
// By squaring; a negative exponent gives the integer part: 0, or ±1 for ±1.
struct PowInt {
  template <class T>
  HWY_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_signed_v<T>) {
      if (y < 0) return x == 1 ? T{1} : x == -1 ? static_cast<T>((y & 1) != 0 ? -1 : 1) : T{0};
    }
    Wrapping<T> base = w(x), result = 1;
    for (Unsigned<T> n = static_cast<Unsigned<T>>(y); n != 0;
         n = static_cast<Unsigned<T>>(n >> 1)) {
      if ((n & 1) != 0) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};

template <class F, class T>
void add1(KernelList& list, std::string_view schema) {
  add_loop<F, T, T>(list, schema, TN_MASK(kDtype<T>));
}
template <class F, class T>
void add2(KernelList& list, std::string_view schema) {
  add_loop<F, T, T, T>(list, schema, TN_MASK(kDtype<T>));
}
// Where signs don't matter one kernel serves the signed and the unsigned type.
template <class F, class... T>
void add1_unsigned(KernelList& list, std::string_view schema) {
  (add_loop<F, T, T>(list, schema, TN_MASK(kDtype<T>) | TN_MASK(kDtype<std::make_signed_t<T>>)),
   ...);
}
template <class F, class... T>
void add2_unsigned(KernelList& list, std::string_view schema) {
  (add_loop<F, T, T, T>(list, schema, TN_MASK(kDtype<T>) | TN_MASK(kDtype<std::make_signed_t<T>>)),
   ...);
}

template <class T>
void add_ordered(KernelList& list) {
  add1<AbsInt, T>(list, TN_SCHEMA_ABS);
  add1<SignInt, T>(list, TN_SCHEMA_SIGN);
  add1<ReluInt, T>(list, TN_SCHEMA_RELU);
  add2<MaximumInt, T>(list, TN_SCHEMA_MAXIMUM);
  add2<MinimumInt, T>(list, TN_SCHEMA_MINIMUM);
  add2<FloorDivideInt, T>(list, TN_SCHEMA_FLOOR_DIVIDE);
  add2<RemainderInt, T>(list, TN_SCHEMA_REMAINDER);
  add2<PowInt, T>(list, TN_SCHEMA_POW);
  add2<RightShift, T>(list, TN_SCHEMA_BITWISE_RIGHT_SHIFT);
  add2<ReluBackwardInt, T>(list, TN_SCHEMA_RELU_BACKWARD);
}
template <class... T>
void add_signless(KernelList& list) {
  for (const char* schema : {TN_SCHEMA_FLOOR, TN_SCHEMA_CEIL, TN_SCHEMA_ROUND, TN_SCHEMA_TRUNC,
                             TN_SCHEMA_CONJ, TN_SCHEMA_REAL})
    add1_unsigned<CopyInt, T...>(list, schema);
  add1_unsigned<ZeroInt, T...>(list, TN_SCHEMA_IMAG);
  add1_unsigned<NegInt, T...>(list, TN_SCHEMA_NEG);
  add1_unsigned<SquareInt, T...>(list, TN_SCHEMA_SQUARE);
  add1_unsigned<NotInt, T...>(list, TN_SCHEMA_BITWISE_NOT);
  add2_unsigned<AddInt, T...>(list, TN_SCHEMA_ADD);
  add2_unsigned<SubInt, T...>(list, TN_SCHEMA_SUB);
  add2_unsigned<MulInt, T...>(list, TN_SCHEMA_MUL);
  add2_unsigned<AndInt, T...>(list, TN_SCHEMA_BITWISE_AND);
  add2_unsigned<OrInt, T...>(list, TN_SCHEMA_BITWISE_OR);
  add2_unsigned<XorInt, T...>(list, TN_SCHEMA_BITWISE_XOR);
  add2_unsigned<LeftShift, T...>(list, TN_SCHEMA_BITWISE_LEFT_SHIFT);
}
// A bool is a byte of 0 or 1.
void add_bool(KernelList& list) {
  const uint64_t mask = TN_MASK_BOOL;
  for (const char* schema :
       {TN_SCHEMA_ABS, TN_SCHEMA_SIGN, TN_SCHEMA_SQUARE, TN_SCHEMA_FLOOR, TN_SCHEMA_CEIL,
        TN_SCHEMA_ROUND, TN_SCHEMA_TRUNC, TN_SCHEMA_CONJ, TN_SCHEMA_REAL})
    add_loop<CopyInt, uint8_t, uint8_t>(list, schema, mask);
  add_loop<ZeroInt, uint8_t, uint8_t>(list, TN_SCHEMA_IMAG, mask);
  add_loop<NotBool, uint8_t, uint8_t>(list, TN_SCHEMA_BITWISE_NOT, mask);
  for (const char* schema : {TN_SCHEMA_ADD, TN_SCHEMA_BITWISE_OR, TN_SCHEMA_MAXIMUM})
    add_loop<OrInt, uint8_t, uint8_t, uint8_t>(list, schema, mask);
  for (const char* schema : {TN_SCHEMA_MUL, TN_SCHEMA_BITWISE_AND, TN_SCHEMA_MINIMUM})
    add_loop<AndInt, uint8_t, uint8_t, uint8_t>(list, schema, mask);
  add_loop<XorInt, uint8_t, uint8_t, uint8_t>(list, TN_SCHEMA_BITWISE_XOR, mask);
}

void add_kernels(KernelList& list) {
  add_ordered<uint8_t>(list), add_ordered<uint16_t>(list), add_ordered<uint32_t>(list),
      add_ordered<uint64_t>(list);
  add_ordered<int8_t>(list), add_ordered<int16_t>(list), add_ordered<int32_t>(list),
      add_ordered<int64_t>(list);
  add_signless<uint8_t, uint16_t, uint32_t, uint64_t>(list);
  add_bool(list);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_binary_integer_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
