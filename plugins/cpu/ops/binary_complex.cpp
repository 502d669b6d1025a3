// Complex numbers, lane by lane: compiled for the baseline only.
#include <cmath>
#include <complex>
#include <limits>

#include "dispatch.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

template <class R>
using C = std::complex<R>;

// The plain product and Smith's quotient: no detour for infinities, as NumPy has it.
template <class R>
C<R> product(C<R> x, C<R> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
template <class R>
C<R> quotient(C<R> x, C<R> y) {
  const R a = std::abs(y.real()), b = std::abs(y.imag());
  if (a >= b) {
    if (a == 0) return {x.real() / a, x.imag() / a};
    const R ratio = y.imag() / y.real(), scale = 1 / (y.real() + y.imag() * ratio);
    return {(x.real() + x.imag() * ratio) * scale, (x.imag() - x.real() * ratio) * scale};
  }
  const R ratio = y.real() / y.imag(), scale = 1 / (y.imag() + y.real() * ratio);
  return {(x.real() * ratio + x.imag()) * scale, (x.imag() * ratio - x.real()) * scale};
}
template <class R>
C<R> power(C<R> x, C<R> y) {
  if (y == C<R>(0)) return C<R>(1);
  if (x == C<R>(0))
    return y.real() > 0
               ? C<R>(0)
               : C<R>(std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::quiet_NaN());
  // A small whole exponent is exact by products.
  if (y.imag() == 0 && y.real() == std::floor(y.real()) && std::abs(y.real()) <= 64) {
    C<R> base = x, result(1);
    for (int n = static_cast<int>(std::abs(y.real())); n != 0; n >>= 1, base = product(base, base))
      if ((n & 1) != 0) result = product(result, base);
    return y.real() < 0 ? quotient(C<R>(1), result) : result;
  }
  return std::exp(product(y, std::log(x)));
}
// e^z - 1 = expm1(re) cos(im) - 2 sin^2(im / 2) + i e^re sin(im)
template <class R>
C<R> minus_one_exp(C<R> z) {
  // Of −0 + 0j the standard wants 0 + 0j, which the sum gives; −0 − 0j stays.
  if (z.imag() == 0) return {std::expm1(z.real()) + z.imag(), z.imag()};
  if (!std::isfinite(z.real()) || !std::isfinite(z.imag())) {
    const C<R> power = std::exp(z);
    return {power.real() - 1, power.imag()};
  }
  const R s = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s,
          std::exp(z.real()) * std::sin(z.imag())};
}
// log(1 + z): the real part by log1p of |1 + z|^2 - 1, which keeps small z.
template <class R>
C<R> log_plus_one(C<R> z) {
  const R a = z.real(), b = z.imag();
  if (std::abs(a) > R{0.5} || std::abs(b) > R{0.5}) return std::log(C<R>(1 + a, b));
  return {std::log1p(2 * a + a * a + b * b) / 2, std::atan2(b, 1 + a)};
}
// The Array API lets the zero of an infinite real part have the sign of the imaginary one, C that of sin 2 im.
template <class R>
C<R> tangent_h(C<R> z) {
  if (std::isinf(z.real())) return {std::copysign(R{1}, z.real()), std::copysign(R{0}, z.imag())};
  return std::tanh(z);
}
// -i tanh(iz)
template <class R>
C<R> tangent(C<R> z) {
  const C<R> turned = tangent_h(C<R>(-z.imag(), z.real()));
  return {turned.imag(), -turned.real()};
}
template <class R>
C<R> direction(C<R> z) {
  const R size = std::abs(z);
  return size == 0 ? C<R>(0) : z / size;
}

template <class F, class Out, class... In>
void stretch(const void*, void* out_bytes, const void* const* in, int64_t n) {
  Out* out = static_cast<Out*>(out_bytes);
  [&]<size_t... K>(std::index_sequence<K...>) {
    for (int64_t i = 0; i < n; ++i) out[i] = F()(static_cast<const In*>(in[K])[i]...);
  }
  (std::index_sequence_for<In...>());
}
template <class F, class Out, class... In>
constexpr Elementwise kSelf = {{stretch<F, Out, In...>, nullptr, nullptr, nullptr},
                               sizeof...(In),
                               sizeof(Out),
                               {sizeof(In)...},
                               kGrainHeavy};

template <class R>
class Family {
 public:
  explicit Family(KernelList& list) : list_(list) {}

  void arithmetic() {
    unary(TN_SCHEMA_NEG, [](C<R> z) { return -z; });
    unary(TN_SCHEMA_SIGN, [](C<R> z) { return direction(z); });
    unary(TN_SCHEMA_SQUARE, [](C<R> z) { return product(z, z); });
    unary(TN_SCHEMA_CONJ, [](C<R> z) { return std::conj(z); });
    unary(TN_SCHEMA_RECIPROCAL, [](C<R> z) { return quotient(C<R>(1), z); });
    unary(TN_SCHEMA_SQRT, [](C<R> z) { return std::sqrt(z); });
    unary(TN_SCHEMA_RSQRT, [](C<R> z) { return quotient(C<R>(1), std::sqrt(z)); });
    to_real(TN_SCHEMA_ABS, [](C<R> z) { return std::abs(z); });
    to_real(TN_SCHEMA_REAL, [](C<R> z) { return z.real(); });
    to_real(TN_SCHEMA_IMAG, [](C<R> z) { return z.imag(); });
    binary(TN_SCHEMA_ADD, [](C<R> x, C<R> y) { return x + y; });
    binary(TN_SCHEMA_SUB, [](C<R> x, C<R> y) { return x - y; });
    binary(TN_SCHEMA_MUL, [](C<R> x, C<R> y) { return product(x, y); });
    binary(TN_SCHEMA_DIV, [](C<R> x, C<R> y) { return quotient(x, y); });
    binary(TN_SCHEMA_POW, [](C<R> x, C<R> y) { return power(x, y); });
    from_parts(TN_SCHEMA_COMPLEX, [](R re, R im) { return C<R>(re, im); });
  }
  void transcendental() {
    unary(TN_SCHEMA_EXP, [](C<R> z) { return std::exp(z); });
    unary(TN_SCHEMA_EXP2, [](C<R> z) { return std::exp(z * R(0.69314718055994530942)); });
    unary(TN_SCHEMA_EXPM1, [](C<R> z) { return minus_one_exp(z); });
    unary(TN_SCHEMA_LOG, [](C<R> z) { return std::log(z); });
    unary(TN_SCHEMA_LOG2, [](C<R> z) { return std::log(z) * R(1.44269504088896340736); });
    unary(TN_SCHEMA_LOG10, [](C<R> z) { return std::log10(z); });
    unary(TN_SCHEMA_LOG1P, [](C<R> z) { return log_plus_one(z); });
    unary(TN_SCHEMA_SIN, [](C<R> z) { return std::sin(z); });
    unary(TN_SCHEMA_COS, [](C<R> z) { return std::cos(z); });
    unary(TN_SCHEMA_TAN, [](C<R> z) { return tangent(z); });
    unary(TN_SCHEMA_ASIN, [](C<R> z) { return std::asin(z); });
    unary(TN_SCHEMA_ACOS, [](C<R> z) { return std::acos(z); });
    unary(TN_SCHEMA_ATAN, [](C<R> z) { return std::atan(z); });
    unary(TN_SCHEMA_SINH, [](C<R> z) { return std::sinh(z); });
    unary(TN_SCHEMA_COSH, [](C<R> z) { return std::cosh(z); });
    unary(TN_SCHEMA_TANH, [](C<R> z) { return tangent_h(z); });
    unary(TN_SCHEMA_ASINH, [](C<R> z) { return std::asinh(z); });
    unary(TN_SCHEMA_ACOSH, [](C<R> z) { return std::acosh(z); });
    unary(TN_SCHEMA_ATANH, [](C<R> z) { return std::atanh(z); });
  }
  void tests() {
    test1(TN_SCHEMA_ISNAN, [](C<R> z) { return std::isnan(z.real()) || std::isnan(z.imag()); });
    test1(TN_SCHEMA_ISINF, [](C<R> z) { return std::isinf(z.real()) || std::isinf(z.imag()); });
    test1(TN_SCHEMA_ISFINITE,
          [](C<R> z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); });
    test1(TN_SCHEMA_LOGICAL_NOT, [](C<R> z) { return z == C<R>(0); });
    test2(TN_SCHEMA_EQUAL, [](C<R> x, C<R> y) { return x == y; });
    test2(TN_SCHEMA_NOT_EQUAL, [](C<R> x, C<R> y) { return x != y; });
    test2(TN_SCHEMA_LOGICAL_AND, [](C<R> x, C<R> y) { return x != C<R>(0) && y != C<R>(0); });
    test2(TN_SCHEMA_LOGICAL_OR, [](C<R> x, C<R> y) { return x != C<R>(0) || y != C<R>(0); });
    test2(TN_SCHEMA_LOGICAL_XOR, [](C<R> x, C<R> y) { return (x != C<R>(0)) != (y != C<R>(0)); });
  }

 private:
  template <class F, class Out, class... In>
  void add(const char* schema, F, tn_dtype dtype) {
    add_elementwise(list_, schema, TN_MASK(dtype), kSelf<F, Out, In...>);
  }
  template <class F>
  void unary(const char* schema, F f) {
    add<F, C<R>, C<R>>(schema, f, kDtype<C<R>>);
  }
  template <class F>
  void to_real(const char* schema, F f) {
    add<F, R, C<R>>(schema, f, kDtype<C<R>>);
  }
  template <class F>
  void binary(const char* schema, F f) {
    add<F, C<R>, C<R>, C<R>>(schema, f, kDtype<C<R>>);
  }
  template <class F>
  void from_parts(const char* schema, F f) {
    add<F, C<R>, R, R>(schema, f, kDtype<R>);
  }
  template <class F>
  void test1(const char* schema, F f) {
    add<F, bool, C<R>>(schema, f, kDtype<C<R>>);
  }
  template <class F>
  void test2(const char* schema, F f) {
    add<F, bool, C<R>, C<R>>(schema, f, kDtype<C<R>>);
  }

  KernelList& list_;
};

}  // namespace

void add_binary_complex_kernels(KernelList& list) {
  Family<float> narrow(list);
  narrow.arithmetic(), narrow.transcendental(), narrow.tests();
  Family<double> wide(list);
  wide.arithmetic(), wide.transcendental(), wide.tests();
}

}  // namespace tenon::cpu
