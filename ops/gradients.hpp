// Parts that the formulas of several families share.
#pragma once

#include <complex>

#include "autograd/formula.hpp"
#include "dispatch/call.hpp"
#include "dispatch/record.hpp"

namespace tenon::core {

// Gradients of complex numbers follow PyTorch: conj(df/dz) times what arrives. Real numbers cost nothing extra.
inline Tensor conj_of(const Tensor& x) { return is_complex(x.dtype()) ? conj(x) : x; }

// Integers and bool as f32, the dtype of their averages and exponentials.
inline Tensor fraction(const Tensor& x) {
  return is_floating(x.dtype()) || is_complex(x.dtype()) ? x : x.to(DType::F32);
}

// x in a dtype wide enough for sums: f64 stays f64, everything else becomes f32.
inline Tensor wide(const Tensor& x) {
  return x.to(x.dtype() == DType::F64 ? DType::F64 : DType::F32);
}

inline Tensor zeros(IntList shape, const Tensor& like) {
  return full(shape, 0, like.dtype(), like.device());
}
inline Tensor ones(IntList shape, const Tensor& like) {
  return full(shape, 1, like.dtype(), like.device());
}

// Calls an op that puts something into its first argument, in place on a fresh tensor to save the copy; but not while calls are watched,
// so that a captured graph has no writes.
template <class... Rest>
Tensor put(detail::OpHandle& op, const Tensor& fresh, const Rest&... rest) {
  const tn_value args[] = {detail::value(fresh), detail::value(rest)...};
  constexpr uint32_t kArgs = sizeof...(rest) + 1;
  if ((t_modes & kModeWatched) != 0) [[unlikely]]
    return detail::call(op, args, kArgs);
  detail::call_into(op, args, kArgs, fresh);
  return fresh;
}

// Whether partial sums of gradients may be written in place: not while gradients are recorded, nor while calls are watched.
inline bool may_write() { return (t_modes & (TN_MODE_GRAD | kModeWatched)) == 0; }

// Adds the gradient of a part of an argument to that part of the argument's gradient, in place, so that many parts fill one tensor.
// Returns false if nothing may be written.
template <class View>
bool add_part(GradCall& c, uint32_t arg, View&& view) {
  if (!may_write()) return false;
  Tensor sum = c.arrived(arg);
  const bool fresh = !sum.defined();
  if (fresh) sum = zeros(c.shape(arg), c.grad());
  Tensor part = view(sum);
  fresh ? part.copy_(c.grad()) : part += c.grad();
  part = Tensor();  // so that the next addition finds the sum unshared
  c.set(arg, std::move(sum));
  return true;
}

// The gradient that has arrived for an argument so far, to which a gradient that is `g` at some places can be added; undefined while
// gradients are recorded. Watched calls add into a copy, so that terms are added in the same order. Halves are summed apart: added one
// by one to a large sum, small ones would be rounded away.
inline Tensor sum_so_far(GradCall& c, uint32_t arg, const Tensor& g) {
  const bool recorded = (t_modes & TN_MODE_GRAD) != 0;
  return !recorded && size_of(g.dtype()) >= 4 ? c.arrived(arg) : Tensor();
}
inline Tensor sum_or_zeros(GradCall& c, uint32_t arg, const Tensor& g) {
  const Tensor sum = sum_so_far(c, arg, g);
  return sum.defined() ? sum : zeros(c.shape(arg), g);
}

// An argument of an elementwise op: a tensor or a number.
class Value {
 public:
  Value(const GradCall& c, uint32_t arg)
      : number_(c.is_number(arg)), scalar_(number_ ? c.number(arg) : Scalar(0)) {
    if (!number_) tensor_ = c.in(arg);
  }
  operator Operand() const { return number_ ? Operand(scalar_) : Operand(tensor_); }
  bool is_number() const { return number_; }
  const Tensor& tensor() const { return tensor_; }
  std::complex<double> complex() const {
    const tn_value v = scalar_.value();
    if (v.tag == TN_VALUE_COMPLEX) return {v.as.floats[0], v.as.floats[1]};
    return v.tag == TN_VALUE_FLOAT ? v.as.f : static_cast<double>(v.as.i);
  }
  // Conjugates it in place.
  Value& conjugate() {
    if (!number_)
      tensor_ = conj_of(tensor_);
    else if (scalar_.value().tag == TN_VALUE_COMPLEX)
      scalar_ = Scalar(std::conj(complex()));
    return *this;
  }

 private:
  bool number_;
  Scalar scalar_;
  Tensor tensor_;
};

// A list of sizes that needs no allocation.
class Sizes {
 public:
  Sizes() = default;
  Sizes(std::span<const int64_t> from) {
    for (const int64_t size : from) push(size);
  }
  void push(int64_t size) { sizes_[n_++] = size; }
  size_t size() const { return n_; }
  int64_t& operator[](size_t i) { return sizes_[i]; }
  int64_t operator[](size_t i) const { return sizes_[i]; }
  int64_t back() const { return sizes_[n_ - 1]; }
  operator std::span<const int64_t>() const { return {sizes_, n_}; }
  operator IntList() const { return IntList(std::span<const int64_t>(sizes_, n_)); }

 private:
  int64_t sizes_[TN_MAX_DIMS + 1];
  size_t n_ = 0;
};

inline OptionalInts optional_ints(const GradCall& c, uint32_t arg) {
  return c.has(arg) ? OptionalInts(c.ints(arg)) : OptionalInts();
}
inline std::optional<int64_t> optional_integer(const GradCall& c, uint32_t arg) {
  return c.has(arg) ? std::optional(c.integer(arg)) : std::nullopt;
}
inline int64_t wrapped(int64_t dim, size_t rank) {
  return dim < 0 ? dim + static_cast<int64_t>(rank) : dim;
}
inline int64_t product(std::span<const int64_t> sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  return n;
}

}  // namespace tenon::core
