// Arithmetic and tests of one operand.
#include "arithmetic.hpp"
#include "elementwise.hpp"

namespace tenon::gpu {
namespace {

#define TENON_GPU_OP1(Name, expression)                      \
  template <class C>                                         \
  struct Name {                                              \
    GPU_FN auto operator()(C x) const { return expression; } \
  }

TENON_GPU_OP1(Neg, kIsReal<C> ? static_cast<C>(-x) : minus(C(0), x));
TENON_GPU_OP1(Square, times(x, x));
TENON_GPU_OP1(Relu, x < C(0) ? C(0) : x);  // NaN stays
TENON_GPU_OP1(Floor, std::floor(x));
TENON_GPU_OP1(Ceil, std::ceil(x));
TENON_GPU_OP1(Round, std::nearbyint(x));  // ties to even
TENON_GPU_OP1(Trunc, std::trunc(x));
TENON_GPU_OP1(IsNan, is_nan(x));
TENON_GPU_OP1(IsInf, is_inf(x));
TENON_GPU_OP1(IsFinite, !is_nan(x) && !is_inf(x));
TENON_GPU_OP1(Signbit, sign_bit(x));
TENON_GPU_OP1(LogicalNot, x == C(0));
TENON_GPU_OP1(Same, x);
TENON_GPU_OP1(Zero, C(0 * sizeof(x)));
TENON_GPU_OP1(Not, ~x);

template <class C>
struct Abs {
  GPU_FN C operator()(C x) const {
    if constexpr (kIsReal<C>) return std::fabs(x);
    return x < C(0) ? minus(C(0), x) : x;
  }
};
// NaN stays, -0 becomes 0.
template <class C>
struct Sign {
  GPU_FN C operator()(C x) const { return is_nan(x) ? x : C(x > C(0)) - C(x < C(0)); }
};

// Integers need no rounding.
template <template <class> class Fn>
void add_rounding(KernelList& list, std::string_view schema) {
  add_elementwise<Floats, Fn, 1>(list, schema);
  add_bitwise<Same, 1>(list, schema, Whole::kMask);
}

// The answer is the same for all integers.
template <template <class> class Fn>
void add_test(KernelList& list, std::string_view schema) {
  add_elementwise<Floats, Fn, 1, bool>(list, schema);
  add_bitwise<Fn, 1, bool>(list, schema, Whole::kMask);
}

}  // namespace

void add_unary_kernels(KernelList& list) {
  add_elementwise<Reals, Neg, 1>(list, TN_SCHEMA_NEG);
  add_elementwise<All, Abs, 1>(list, TN_SCHEMA_ABS);
  add_elementwise<All, Sign, 1>(list, TN_SCHEMA_SIGN);
  add_elementwise<All, Square, 1>(list, TN_SCHEMA_SQUARE);
  add_elementwise<Reals, Relu, 1>(list, TN_SCHEMA_RELU);
  add_rounding<Floor>(list, TN_SCHEMA_FLOOR);
  add_rounding<Ceil>(list, TN_SCHEMA_CEIL);
  add_rounding<Round>(list, TN_SCHEMA_ROUND);
  add_rounding<Trunc>(list, TN_SCHEMA_TRUNC);
  add_bitwise<Same, 1>(list, TN_SCHEMA_CONJ, All::kMask);
  add_bitwise<Same, 1>(list, TN_SCHEMA_REAL, All::kMask);
  add_bitwise<Zero, 1>(list, TN_SCHEMA_IMAG, All::kMask);
  add_bitwise<Not, 1>(list, TN_SCHEMA_BITWISE_NOT, Ints::kMask);
  add_elementwise<Types<bool>, LogicalNot, 1>(list, TN_SCHEMA_BITWISE_NOT);
  add_test<IsNan>(list, TN_SCHEMA_ISNAN);
  add_test<IsInf>(list, TN_SCHEMA_ISINF);
  add_test<IsFinite>(list, TN_SCHEMA_ISFINITE);
  add_elementwise<All, Signbit, 1, bool>(list, TN_SCHEMA_SIGNBIT);
  add_logical<LogicalNot, 1>(list, TN_SCHEMA_LOGICAL_NOT);
}

}  // namespace tenon::gpu
