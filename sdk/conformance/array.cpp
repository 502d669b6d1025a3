#include "array.hpp"

#include <algorithm>
#include <cmath>

namespace tenon::conformance {

void for_each_index(const Shape& shape, const std::function<void(const Shape&)>& fn) {
  if (Array::count(shape) == 0) return;
  Shape index(shape.size(), 0);
  for (;;) {
    fn(index);
    size_t d = shape.size();
    for (;;) {
      if (d == 0) return;
      --d;
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

Complex rounded(Complex value, DType dtype) {
  return visit(dtype, [&]<class T>(T) -> Complex {
    if constexpr (std::is_same_v<T, bool>)
      return value != 0.0;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
      return Complex(std::complex<float>(value));
    else if constexpr (std::is_same_v<T, std::complex<double>>)
      return value;
    else if constexpr (std::is_integral_v<T>) {
      double whole = std::trunc(value.real());
      return whole < 0 ? static_cast<double>(static_cast<T>(static_cast<int64_t>(whole)))
                       : static_cast<double>(static_cast<T>(static_cast<uint64_t>(whole)));
    } else if constexpr (std::is_same_v<T, double>)
      return value.real();
    else
      return static_cast<double>(static_cast<float>(T(static_cast<float>(value.real()))));
  });
}

void round_to_dtype(Array& array) {
  for (Complex& value : array.v) value = rounded(value, array.dtype);
}

Array random_array(Rng& rng, DType dtype, Shape shape, double low, double high) {
  Array array(dtype, std::move(shape));
  bool whole = is_integral(dtype) || dtype == DType::Bool;
  if (dtype == DType::Bool) low = 0, high = 1;
  if (!is_signed(dtype) && low < 0) low = 0;
  for (Complex& value : array.v) {
    if (whole)
      value = static_cast<double>(rng.integer(static_cast<int64_t>(std::ceil(low)),
                                              static_cast<int64_t>(std::floor(high)) + 1));
    else
      value = Complex(rng.uniform(low, high), is_complex(dtype) ? rng.uniform(low, high) : 0.0);
  }
  round_to_dtype(array);
  return array;
}

Array random_indices(Rng& rng, Shape shape, int64_t low, int64_t high, DType dtype) {
  Array array(dtype, std::move(shape));
  for (Complex& value : array.v) value = static_cast<double>(rng.integer(low, high));
  return array;
}

Array distinct_array(Rng& rng, DType dtype, Shape shape, double gap) {
  Array array(dtype, std::move(shape));
  if (is_integral(dtype)) gap = 1;
  double start = is_signed(dtype) ? -gap * static_cast<double>(array.size()) / 2 : 0;
  if (is_integral(dtype)) start = std::ceil(start);
  for (size_t i = 0; i < array.size(); ++i) array.v[i] = start + gap * static_cast<double>(i);
  std::shuffle(array.v.begin(), array.v.end(), rng.engine());
  round_to_dtype(array);
  return array;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t from_a = d < a.size() ? a[a.size() - 1 - d] : 1,
            from_b = d < b.size() ? b[b.size() - 1 - d] : 1;
    shape[shape.size() - 1 - d] = from_a == 1 ? from_b : from_a;
  }
  return shape;
}

Complex broadcast_at(const Array& array, const Shape& index) {
  Shape own(array.rank());
  size_t skip = index.size() - array.rank();
  for (size_t d = 0; d < own.size(); ++d) own[d] = array.shape[d] == 1 ? 0 : index[skip + d];
  return array.v[array.at(own)];
}

DType fractional(DType dtype) {
  return is_floating(dtype) || is_complex(dtype) ? dtype : DType::F32;
}
DType real_of(DType dtype) {
  return dtype == DType::C64 ? DType::F32 : dtype == DType::C128 ? DType::F64 : dtype;
}
DType sum_dtype(DType dtype) {
  if (is_floating(dtype) || is_complex(dtype)) return dtype;
  return is_integral(dtype) && !is_signed(dtype) ? DType::U64 : DType::I64;
}

}  // namespace tenon::conformance
