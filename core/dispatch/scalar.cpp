#include "dispatch/scalar.hpp"

#include <complex>
#include <cstring>

#include "status.hpp"
#include "tenon/dtype.hpp"

namespace tenon::core {
namespace {

template <class T>
constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

int64_t to_integer(double value) {
  if (!(value > -9.3e18 && value < 1.85e19)) return 0;
  return value < 9.2e18 ? static_cast<int64_t>(value)
                        : static_cast<int64_t>(static_cast<uint64_t>(value));
}

// Floats keep their value, integers their bits modulo the width. A number is an int64_t, a double or a complex<double>.
template <class T, class Number>
T as(Number number) {
  if constexpr (is_complex_type<Number> && is_complex_type<T>)
    return T(number);
  else if constexpr (is_complex_type<Number>)
    return as<T>(number.real());
  else if constexpr (std::is_same_v<T, bool>)
    return number != 0;
  else if constexpr (std::is_same_v<T, double> || is_complex_type<T>)
    return T(static_cast<double>(number));
  else if constexpr (!std::is_integral_v<T>)
    return T(static_cast<float>(number));
  else if constexpr (std::is_integral_v<Number>)
    return static_cast<T>(number);
  else
    return static_cast<T>(to_integer(number));
}

void begin(tn_view& view, tn_dtype dtype) {
  view = {};
  view.struct_size = sizeof view;
  view.dtype = dtype;
  view.flags = TN_VIEW_SCALAR | TN_VIEW_CONTIGUOUS;
  view.data = view.scalar;
}

template <class Number>
void make(tn_view& view, tn_dtype dtype, Number number) {
  begin(view, dtype);
  visit(static_cast<DType>(dtype), [&]<class T>(T) {
    const T value = as<T>(number);
    std::memcpy(view.scalar, &value, sizeof(T));
  });
}

}  // namespace

tn_dtype default_dtype(const tn_value& number) {
  if (number.tag == TN_VALUE_BOOL) return TN_DTYPE_BOOL;
  if (number.tag == TN_VALUE_INT) return TN_DTYPE_I64;
  return number.tag == TN_VALUE_COMPLEX ? TN_DTYPE_C64 : TN_DTYPE_F32;
}

void make_scalar_view(tn_view& view, tn_dtype dtype, const tn_value& number) {
  if (number.tag == TN_VALUE_COMPLEX)
    return make(view, dtype, std::complex<double>(number.as.floats[0], number.as.floats[1]));
  if (number.tag == TN_VALUE_FLOAT) return make(view, dtype, number.as.f);
  make(view, dtype, number.as.i);
}

void make_scalar_view(tn_view& view, tn_dtype dtype, const void* element, tn_dtype from) {
  if (dtype == from) {  // exact, also the payload of a NaN and u64 beyond 2^63
    begin(view, dtype);
    std::memcpy(view.scalar, element, tn_dtype_size(dtype));
    return;
  }
  visit(static_cast<DType>(from), [&]<class T>(T) {
    std::conditional_t<std::is_same_v<T, bool>, uint8_t, T> value;
    std::memcpy(&value, element, sizeof value);
    if constexpr (is_complex_type<T>)
      make(view, dtype, std::complex<double>(value));
    else if constexpr (std::is_integral_v<T>)
      make(view, dtype, static_cast<int64_t>(value));
    else
      make(view, dtype, static_cast<double>(value));
  });
}

}  // namespace tenon::core
