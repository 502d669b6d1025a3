// Arithmetic, bits and comparisons of two operands. Integers wrap, division by zero gives 0, and shifts by the width or more
// shift everything out.
#include "arithmetic.hpp"
#include "elementwise.hpp"

#include "../../common/nextafter.hpp"  // behind what defines GPU_FN

namespace tenon::gpu {
namespace {

#define TENON_GPU_OP2(Name, expression)                           \
  template <class C>                                              \
  struct Name {                                                   \
    GPU_FN auto operator()(C x, C y) const { return expression; } \
  }

TENON_GPU_OP2(Add, plus(x, y));
TENON_GPU_OP2(Sub, minus(x, y));
TENON_GPU_OP2(Mul, times(x, y));
TENON_GPU_OP2(Div, x / y);
TENON_GPU_OP2(Maximum, larger(x, y));
TENON_GPU_OP2(Minimum, smaller(x, y));
TENON_GPU_OP2(Copysign, std::copysign(x, y));
TENON_GPU_OP2(ReluBackward, y > C(0) ? x : C(0));
TENON_GPU_OP2(FloorDivide, floor_divided(x, y));
TENON_GPU_OP2(Remainder, python_remainder(x, y));
TENON_GPU_OP2(Power, whole_power(x, y));
TENON_GPU_OP2(And, x& y);
TENON_GPU_OP2(Or, x | y);
TENON_GPU_OP2(Xor, x ^ y);

// NaN is unequal to everything.
TENON_GPU_OP2(Equal, x == y);
TENON_GPU_OP2(NotEqual, x != y);
TENON_GPU_OP2(Less, x < y);
TENON_GPU_OP2(LessEqual, x <= y);
TENON_GPU_OP2(Greater, x > y);
TENON_GPU_OP2(GreaterEqual, x >= y);
TENON_GPU_OP2(LogicalAnd, (x != C(0)) && (y != C(0)));
TENON_GPU_OP2(LogicalOr, (x != C(0)) || (y != C(0)));
TENON_GPU_OP2(LogicalXor, (x != C(0)) != (y != C(0)));

// For the storage type, whose width counts.
template <class T, bool kLeft>
struct Shift {
  GPU_FN Compute<T> operator()(Compute<T> x, Compute<T> y) const {
    using Unsigned = std::make_unsigned_t<Compute<T>>;
    if (y >= Compute<T>(0) && static_cast<uint64_t>(y) < 8 * sizeof(T))
      return kLeft ? static_cast<Compute<T>>(static_cast<Unsigned>(x) << y) : x >> y;
    return !kLeft && x < Compute<T>(0) ? static_cast<Compute<T>>(~Unsigned(0)) : Compute<T>(0);
  }
};

template <bool kLeft>
void run_shift(const tn_call& call, uint32_t) {
  with_type(Ints{}, input(call, arg::bitwise_left_shift::x).dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    run_elementwise<T, T, T>(call, Shift<T, kLeft>{});
  });
}

// Of the bits of a format.
template <class Bits>
struct Nextafter {
  Bits infinity;
  GPU_FN Compute<Bits> operator()(Compute<Bits> x, Compute<Bits> y) const {
    return next_after(static_cast<Bits>(x), static_cast<Bits>(y), infinity);
  }
};
template <class Bits, Bits kInfinity>
void add_nextafter(KernelList& list, uint64_t dtypes) {
  list.add_elementwise(TN_SCHEMA_NEXTAFTER, dtypes, [](const tn_call& call, uint32_t) {
    run_elementwise<Bits, Bits, Bits>(call, Nextafter<Bits>{kInfinity});
  });
}

}  // namespace

void add_binary_kernels(KernelList& list) {
  // Adding bools is "or", where any number but 0 is true; multiplying them is "and".
  add_elementwise<All, Add, 2>(list, TN_SCHEMA_ADD);
  add_elementwise<Reals, Sub, 2>(list, TN_SCHEMA_SUB);
  add_elementwise<All, Mul, 2>(list, TN_SCHEMA_MUL);
  add_elementwise<Floats, Div, 2>(list, TN_SCHEMA_DIV);
  add_elementwise<All, Maximum, 2>(list, TN_SCHEMA_MAXIMUM);
  add_elementwise<All, Minimum, 2>(list, TN_SCHEMA_MINIMUM);
  add_elementwise<Floats, Copysign, 2>(list, TN_SCHEMA_COPYSIGN);
  add_nextafter<uint16_t, 0x7c00>(list, TN_MASK(TN_DTYPE_F16));
  add_nextafter<uint16_t, 0x7f80>(list, TN_MASK(TN_DTYPE_BF16));
  add_nextafter<uint32_t, 0x7f800000>(list, TN_MASK(TN_DTYPE_F32));
  add_nextafter<uint64_t, 0x7ff0000000000000>(list, TN_MASK(TN_DTYPE_F64));
  add_elementwise<Reals, ReluBackward, 2>(list, TN_SCHEMA_RELU_BACKWARD);
  add_elementwise<Reals, FloorDivide, 2>(list, TN_SCHEMA_FLOOR_DIVIDE);
  add_elementwise<Reals, Remainder, 2>(list, TN_SCHEMA_REMAINDER);
  add_elementwise<Ints, Power, 2>(list, TN_SCHEMA_POW);
  add_bitwise<And, 2>(list, TN_SCHEMA_BITWISE_AND, Whole::kMask);
  add_bitwise<Or, 2>(list, TN_SCHEMA_BITWISE_OR, Whole::kMask);
  add_bitwise<Xor, 2>(list, TN_SCHEMA_BITWISE_XOR, Whole::kMask);
  list.add_elementwise(TN_SCHEMA_BITWISE_LEFT_SHIFT, Ints::kMask, run_shift<true>);
  list.add_elementwise(TN_SCHEMA_BITWISE_RIGHT_SHIFT, Ints::kMask, run_shift<false>);
  add_elementwise<All, Equal, 2, bool>(list, TN_SCHEMA_EQUAL);
  add_elementwise<All, NotEqual, 2, bool>(list, TN_SCHEMA_NOT_EQUAL);
  add_elementwise<All, Less, 2, bool>(list, TN_SCHEMA_LESS);
  add_elementwise<All, LessEqual, 2, bool>(list, TN_SCHEMA_LESS_EQUAL);
  add_elementwise<All, Greater, 2, bool>(list, TN_SCHEMA_GREATER);
  add_elementwise<All, GreaterEqual, 2, bool>(list, TN_SCHEMA_GREATER_EQUAL);
  add_logical<LogicalAnd, 2>(list, TN_SCHEMA_LOGICAL_AND);
  add_logical<LogicalOr, 2>(list, TN_SCHEMA_LOGICAL_OR);
  add_logical<LogicalXor, 2>(list, TN_SCHEMA_LOGICAL_XOR);
}

}  // namespace tenon::gpu
