// What gives bool: comparisons, logic, and tests of floats.
#include <cmath>

#include "kernels.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/compare.cpp"
#include <hwy/foreach_target.h>

#include "simd/map-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

#define TENON_CPU_TEST1(Name, expression)   \
  struct Name {                             \
    template <class T>                      \
    HWY_INLINE bool operator()(T x) const { \
      return expression;                    \
    }                                       \
  };
#define TENON_CPU_TEST2(Name, expression)        \
  struct Name {                                  \
    template <class T>                           \
    HWY_INLINE bool operator()(T x, T y) const { \
      return expression;                         \
    }                                            \
  };

TENON_CPU_TEST2(EqualOp, x == y)
TENON_CPU_TEST2(NotEqualOp, !(x == y))
TENON_CPU_TEST2(LessOp, x < y)
TENON_CPU_TEST2(LessEqualOp, x <= y)
TENON_CPU_TEST2(GreaterOp, x > y)
TENON_CPU_TEST2(GreaterEqualOp, x >= y)
TENON_CPU_TEST2(LogicalAndOp, (x != T{0}) & (y != T{0}))
TENON_CPU_TEST2(LogicalOrOp, (x != T{0}) | (y != T{0}))
TENON_CPU_TEST2(LogicalXorOp, (x != T{0}) != (y != T{0}))
TENON_CPU_TEST1(LogicalNotOp, x == T{0})
TENON_CPU_TEST1(IsNanOp, x != x)
TENON_CPU_TEST1(IsInfOp, std::abs(x) == std::numeric_limits<T>::infinity())
TENON_CPU_TEST1(IsFiniteOp, std::abs(x) < std::numeric_limits<T>::infinity())
TENON_CPU_TEST1(SignbitOp, std::signbit(x))
TENON_CPU_TEST1(NegativeOp, x < 0)
TENON_CPU_TEST1(NeverOp, (x != x))
TENON_CPU_TEST1(AlwaysOp, (x == x))

// Rows of which one input may be a value each: bit k of Ones says that of input k.
template <class F, int Ones, class T>
void test_rows(const void*, void* out, const void* const* in, int64_t n, int64_t rows,
               const int64_t* steps) {
  const auto row_of = [](const void* first, int64_t at) {
    return reinterpret_cast<const T*>(static_cast<const char*>(first) + at);
  };
  for (int64_t r = 0; r < rows; ++r) {
    bool* __restrict const to = static_cast<bool*>(out) + r * steps[0];
    const T* const x = row_of(in[0], r * steps[1]);
    const T* const y = row_of(in[1], r * steps[2]);
    const T only = Ones == 1 ? *x : *y;
    for (int64_t i = 0; i < n; ++i) to[i] = F()(Ones == 1 ? only : x[i], Ones == 2 ? only : y[i]);
  }
}
template <class F, int Ones, class T>
void test_stretch(const void*, void* out, const void* const* in, int64_t n) {
  constexpr int64_t kNoSteps[3] = {};
  test_rows<F, Ones, T>(nullptr, out, in, n, 1, kNoSteps);
}
template <class F, class T>
constexpr Elementwise kTest2 = {
    {test_stretch<F, 0, T>, test_stretch<F, 1, T>, test_stretch<F, 2, T>, nullptr},
    2,
    sizeof(bool),
    {sizeof(T), sizeof(T)},
    kGrainMath,
    nullptr,
    {test_rows<F, 0, T>, test_rows<F, 1, T>, test_rows<F, 2, T>}};

template <class F, class T>
void add_test2(KernelList& list, std::string_view schema, uint64_t dtypes) {
  if constexpr (std::is_same_v<T, float>) {
    add_elementwise(list, schema, TN_MASK(TN_DTYPE_F16), kTest2<F, T>, run_elementwise_f16);
    add_elementwise(list, schema, TN_MASK(TN_DTYPE_BF16), kTest2<F, T>, run_elementwise_bf16);
  }
  add_elementwise(list, schema, dtypes, kTest2<F, T>);
}
template <class F, class T>
void add_test1(KernelList& list, std::string_view schema, uint64_t dtypes) {
  if constexpr (std::is_same_v<T, float>) {
    add_elementwise(list, schema, TN_MASK(TN_DTYPE_F16), kLoop<F, kGrainMath, bool, T>,
                    run_elementwise_f16);
    add_elementwise(list, schema, TN_MASK(TN_DTYPE_BF16), kLoop<F, kGrainMath, bool, T>,
                    run_elementwise_bf16);
  }
  add_loop<F, bool, T>(list, schema, dtypes);
}

template <class T>
void add_order(KernelList& list, uint64_t dtypes) {
  add_test2<LessOp, T>(list, TN_SCHEMA_LESS, dtypes);
  add_test2<LessEqualOp, T>(list, TN_SCHEMA_LESS_EQUAL, dtypes);
  add_test2<GreaterOp, T>(list, TN_SCHEMA_GREATER, dtypes);
  add_test2<GreaterEqualOp, T>(list, TN_SCHEMA_GREATER_EQUAL, dtypes);
}
template <class T>
void add_logic(KernelList& list, uint64_t dtypes) {
  add_test2<EqualOp, T>(list, TN_SCHEMA_EQUAL, dtypes);
  add_test2<NotEqualOp, T>(list, TN_SCHEMA_NOT_EQUAL, dtypes);
  add_test2<LogicalAndOp, T>(list, TN_SCHEMA_LOGICAL_AND, dtypes);
  add_test2<LogicalOrOp, T>(list, TN_SCHEMA_LOGICAL_OR, dtypes);
  add_test2<LogicalXorOp, T>(list, TN_SCHEMA_LOGICAL_XOR, dtypes);
  add_test1<LogicalNotOp, T>(list, TN_SCHEMA_LOGICAL_NOT, dtypes);
}
template <class T>
void add_float_tests(KernelList& list) {
  add_test1<IsNanOp, T>(list, TN_SCHEMA_ISNAN, TN_MASK(kDtype<T>));
  add_test1<IsInfOp, T>(list, TN_SCHEMA_ISINF, TN_MASK(kDtype<T>));
  add_test1<IsFiniteOp, T>(list, TN_SCHEMA_ISFINITE, TN_MASK(kDtype<T>));
  add_test1<SignbitOp, T>(list, TN_SCHEMA_SIGNBIT, TN_MASK(kDtype<T>));
  add_order<T>(list, TN_MASK(kDtype<T>));
  add_logic<T>(list, TN_MASK(kDtype<T>));
}
template <class T>
void add_integer_tests(KernelList& list) {
  using S = std::make_signed_t<T>;
  const uint64_t both =
      TN_MASK(kDtype<T>) | TN_MASK(kDtype<S>) | (sizeof(T) == 1 ? TN_MASK_BOOL : 0);
  const uint64_t unsigned_ones = both & ~TN_MASK(kDtype<S>);
  add_logic<T>(list, both);
  add_order<T>(list, unsigned_ones);
  add_order<S>(list, TN_MASK(kDtype<S>));
  add_test1<NeverOp, T>(list, TN_SCHEMA_ISNAN, both);
  add_test1<NeverOp, T>(list, TN_SCHEMA_ISINF, both);
  add_test1<AlwaysOp, T>(list, TN_SCHEMA_ISFINITE, both);
  add_test1<NeverOp, T>(list, TN_SCHEMA_SIGNBIT, unsigned_ones);
  add_test1<NegativeOp, S>(list, TN_SCHEMA_SIGNBIT, TN_MASK(kDtype<S>));
}

void add_kernels(KernelList& list) {
  add_float_tests<float>(list);
  add_float_tests<double>(list);
  add_integer_tests<uint8_t>(list);
  add_integer_tests<uint16_t>(list);
  add_integer_tests<uint32_t>(list);
  add_integer_tests<uint64_t>(list);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_compare_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
