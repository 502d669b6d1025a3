// Arguments of ops in C++: numbers, lists of integers, and their conversion to tn_value.
#ifndef TENON_VALUE_HPP
#define TENON_VALUE_HPP

#include <array>
#include <complex>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/device.hpp"
#include "tenon/dtype.hpp"
#include "tenon/random.hpp"
#include "tenon/value.h"

namespace tenon {

// A number that remembers its kind, for promotion.
class Scalar {
 public:
  Scalar(bool value) noexcept : tag_(TN_VALUE_BOOL), integer_(value) {}
  template <std::integral T>
  Scalar(T value) noexcept : tag_(TN_VALUE_INT), integer_(static_cast<int64_t>(value)) {}
  template <std::floating_point T>
  Scalar(T value) noexcept : tag_(TN_VALUE_FLOAT), real_{static_cast<double>(value), 0} {}
  template <class T>
  Scalar(std::complex<T> value) noexcept
      : tag_(TN_VALUE_COMPLEX), real_{value.real(), value.imag()} {}

  // Borrows from this object.
  tn_value value() const noexcept {
    tn_value v{};
    v.tag = tag_;
    if (tag_ == TN_VALUE_FLOAT) {
      v.as.f = real_[0];
    } else if (tag_ == TN_VALUE_COMPLEX) {
      v.count = 2;
      v.as.floats = real_;
    } else {
      v.as.i = integer_;
    }
    return v;
  }

 protected:
  Scalar() noexcept : tag_(TN_VALUE_NONE), integer_(0) {}

 private:
  uint32_t tag_;
  union {
    int64_t integer_;
    double real_[2];
  };
};

// A number, or none: {} and std::nullopt mean "not given".
class OptionalScalar : public Scalar {
 public:
  OptionalScalar() noexcept = default;
  OptionalScalar(std::nullopt_t) noexcept {}
  template <class T>
  requires std::convertible_to<T, Scalar> OptionalScalar(T value)
  noexcept : Scalar(value) {}
};

// A borrowed list of integers: write {2, 3}, a vector, an array, a span, or one number for a
// list of one.
class IntList {
 public:
  constexpr IntList() noexcept = default;
  constexpr IntList(std::integral auto value) noexcept
      : size_(1), single_(static_cast<int64_t>(value)) {}
  constexpr IntList(std::initializer_list<int64_t> list) noexcept : size_(list.size()) {
    data_ = list.begin();
  }
  constexpr IntList(std::span<const int64_t> list) noexcept
      : data_(list.data()), size_(list.size()) {}
  IntList(const std::vector<int64_t>& list) noexcept : data_(list.data()), size_(list.size()) {}
  template <size_t N>
  constexpr IntList(const std::array<int64_t, N>& list) noexcept : data_(list.data()), size_(N) {}

  constexpr size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr const int64_t* data() const noexcept { return data_ != nullptr ? data_ : &single_; }
  constexpr const int64_t* begin() const noexcept { return data(); }
  constexpr const int64_t* end() const noexcept { return data() + size_; }
  constexpr int64_t operator[](size_t i) const noexcept { return data()[i]; }
  constexpr operator std::span<const int64_t>() const noexcept { return {data(), size_}; }
  std::vector<int64_t> vec() const { return {begin(), end()}; }

 private:
  const int64_t* data_ = nullptr;
  size_t size_ = 0;
  int64_t single_ = 0;
};

// The same, or absent: {} and std::nullopt mean "not given".
class OptionalInts : public IntList {
 public:
  constexpr OptionalInts() noexcept = default;
  constexpr OptionalInts(std::nullopt_t) noexcept {}
  constexpr OptionalInts(std::integral auto value) noexcept : IntList(value), given_(true) {}
  constexpr OptionalInts(std::initializer_list<int64_t> list) noexcept
      : IntList(list), given_(true) {}
  constexpr OptionalInts(std::span<const int64_t> list) noexcept : IntList(list), given_(true) {}
  OptionalInts(const std::vector<int64_t>& list) noexcept : IntList(list), given_(true) {}
  constexpr OptionalInts(const IntList& list) noexcept : IntList(list), given_(true) {}
  constexpr bool has_value() const noexcept { return given_; }

 private:
  bool given_ = false;
};

namespace detail {

inline tn_value none() noexcept { return tn_value{}; }
inline tn_value value(bool x) noexcept {
  tn_value v{};
  v.tag = TN_VALUE_BOOL;
  v.as.i = x;
  return v;
}
inline tn_value value(int64_t x) noexcept {
  tn_value v{};
  v.tag = TN_VALUE_INT;
  v.as.i = x;
  return v;
}
inline tn_value value(double x) noexcept {
  tn_value v{};
  v.tag = TN_VALUE_FLOAT;
  v.as.f = x;
  return v;
}
inline tn_value value(std::string_view x) noexcept {
  tn_value v{};
  v.tag = TN_VALUE_STR;
  v.count = static_cast<uint32_t>(x.size());
  v.as.str = x.data();
  return v;
}
inline tn_value value(DType x) noexcept {
  tn_value v{};
  v.tag = TN_VALUE_DTYPE;
  v.as.i = static_cast<int64_t>(x);
  return v;
}
inline tn_value value(Device x) noexcept {
  tn_value v{};
  v.tag = x.defined() ? TN_VALUE_DEVICE : TN_VALUE_NONE;
  v.as.device = x.get();
  return v;
}
inline tn_value value(const Generator& x) noexcept {
  tn_value v{};
  v.tag = x.defined() ? TN_VALUE_GENERATOR : TN_VALUE_NONE;
  v.as.generator = x.get();
  return v;
}
inline tn_value value(const Scalar& x) noexcept { return x.value(); }
inline tn_value value(const IntList& x) noexcept {
  tn_value v{};
  v.tag = TN_VALUE_INTS;
  v.count = static_cast<uint32_t>(x.size());
  v.as.ints = x.data();
  return v;
}
inline tn_value value(const OptionalInts& x) noexcept {
  return x.has_value() ? value(static_cast<const IntList&>(x)) : none();
}
template <class T>
inline tn_value value(const std::optional<T>& x) noexcept {
  return x.has_value() ? value(*x) : none();
}

}  // namespace detail
}  // namespace tenon
#endif
