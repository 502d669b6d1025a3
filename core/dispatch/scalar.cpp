#include "dispatch/scalar.hpp"

#include <bit>
#include <complex>
#include <cstring>

#include "status.hpp"
#include "tensor/half.hpp"

namespace tenon::core {
namespace {

// Rounds to nearest, ties to even, as the formats' conversions do.
uint16_t to_bf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T>
void store(tn_view& view, T value) {
  std::memcpy(view.scalar, &value, sizeof(T));
}

// Floats keep their value, integers their bits modulo the width.
void store_integer(tn_view& view, int64_t value) {
  switch (view.dtype) {
    case TN_DTYPE_BOOL:
      return store<uint8_t>(view, value != 0);
    case TN_DTYPE_U8:
    case TN_DTYPE_I8:
      return store(view, static_cast<int8_t>(value));
    case TN_DTYPE_U16:
    case TN_DTYPE_I16:
      return store(view, static_cast<int16_t>(value));
    case TN_DTYPE_U32:
    case TN_DTYPE_I32:
      return store(view, static_cast<int32_t>(value));
    default:
      return store(view, value);
  }
}

int64_t to_integer(double value) {
  if (!(value > -9.3e18 && value < 1.85e19)) return 0;
  return value < 9.2e18 ? static_cast<int64_t>(value)
                        : static_cast<int64_t>(static_cast<uint64_t>(value));
}

void store_real(tn_view& view, double value) {
  switch (view.dtype) {
    case TN_DTYPE_F16:
      return store(view, float_to_half(static_cast<float>(value)));
    case TN_DTYPE_BF16:
      return store(view, to_bf16(static_cast<float>(value)));
    case TN_DTYPE_F32:
      return store(view, static_cast<float>(value));
    case TN_DTYPE_F64:
      return store(view, value);
    case TN_DTYPE_BOOL:
      return store<uint8_t>(view, value != 0);
    case TN_DTYPE_C64:
      return store(view, std::complex<float>(static_cast<float>(value)));
    case TN_DTYPE_C128:
      return store(view, std::complex<double>(value));
    default:
      return store_integer(view, to_integer(value));
  }
}

void store_complex(tn_view& view, std::complex<double> value) {
  if (view.dtype == TN_DTYPE_C64) return store(view, std::complex<float>(value));
  if (view.dtype == TN_DTYPE_C128) return store(view, value);
  store_real(view, value.real());
}

bool is_integral_code(tn_dtype dtype) {
  return ((TN_MASK_INT | TN_MASK_BOOL) & TN_MASK(dtype)) != 0;
}

void begin(tn_view& view, tn_dtype dtype) {
  view.struct_size = sizeof(tn_view);
  view.dtype = dtype;
  view.ndim = 0;
  view.flags = TN_VIEW_SCALAR | TN_VIEW_CONTIGUOUS;
  view.data = view.scalar;
  view.shape = nullptr;
  view.strides = nullptr;
  view.buffer = nullptr;
  view.offset = 0;
}

template <class T>
T load(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return value;
}

// An element as the widest type of its kind.
tn_value load_element(const void* element, tn_dtype dtype, double (&pair)[2]) {
  tn_value value{TN_VALUE_INT, 0, {}};
  auto real = [&](double number) {
    value.tag = TN_VALUE_FLOAT;
    value.as.f = number;
  };
  switch (dtype) {
    case TN_DTYPE_BOOL:
    case TN_DTYPE_U8:
      value.as.i = load<uint8_t>(element);
      break;
    case TN_DTYPE_U16:
      value.as.i = load<uint16_t>(element);
      break;
    case TN_DTYPE_U32:
      value.as.i = load<uint32_t>(element);
      break;
    case TN_DTYPE_U64:
    case TN_DTYPE_I64:
      value.as.i = load<int64_t>(element);
      break;
    case TN_DTYPE_I8:
      value.as.i = load<int8_t>(element);
      break;
    case TN_DTYPE_I16:
      value.as.i = load<int16_t>(element);
      break;
    case TN_DTYPE_I32:
      value.as.i = load<int32_t>(element);
      break;
    case TN_DTYPE_F16:
      real(half_to_float(load<uint16_t>(element)));
      break;
    case TN_DTYPE_BF16:
      real(std::bit_cast<float>(uint32_t{load<uint16_t>(element)} << 16));
      break;
    case TN_DTYPE_F32:
      real(load<float>(element));
      break;
    case TN_DTYPE_F64:
      real(load<double>(element));
      break;
    default: {
      auto number = dtype == TN_DTYPE_C64 ? std::complex<double>(load<std::complex<float>>(element))
                                          : load<std::complex<double>>(element);
      pair[0] = number.real(), pair[1] = number.imag();
      value.tag = TN_VALUE_COMPLEX;
      value.as.floats = pair;
    }
  }
  return value;
}

}  // namespace

tn_dtype default_dtype(const tn_value& number) {
  switch (number.tag) {
    case TN_VALUE_BOOL:
      return TN_DTYPE_BOOL;
    case TN_VALUE_INT:
      return TN_DTYPE_I64;
    case TN_VALUE_COMPLEX:
      return TN_DTYPE_C64;
    default:
      return TN_DTYPE_F32;
  }
}

void make_scalar_view(tn_view& view, tn_dtype dtype, const tn_value& number) {
  begin(view, dtype);
  switch (number.tag) {
    case TN_VALUE_COMPLEX:
      return store_complex(view, {number.as.floats[0], number.as.floats[1]});
    case TN_VALUE_FLOAT:
      return store_real(view, number.as.f);
    default:
      if (is_integral_code(dtype)) return store_integer(view, number.as.i);
      return store_real(view, static_cast<double>(number.as.i));
  }
}

void make_scalar_view(tn_view& view, tn_dtype dtype, const void* element, tn_dtype from) {
  if (dtype == from) {
    begin(view, dtype);
    std::memcpy(view.scalar, element, tn_dtype_size(dtype));
    return;
  }
  double pair[2];
  make_scalar_view(view, dtype, load_element(element, from, pair));
}

}  // namespace tenon::core
