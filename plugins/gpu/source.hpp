// Elements whose dtype the kernel learns at run time, for kernels where an instance for each dtype would cost more than the branch. Halves
// and f32 are computed in float, f64 in double, integers in int64_t; uint64_t takes elements as bits, by size.
#pragma once

#include "kernels.hpp"
#include "launch.hpp"

namespace tenon::gpu {

template <class C>
struct TypesInOf {
  using type = Types<Half, BFloat16, float>;
};
template <>
struct TypesInOf<double> {
  using type = Types<double>;
};
template <>
struct TypesInOf<int64_t> {
  using type = Whole;
};
template <>
struct TypesInOf<uint64_t> {
  using type = Sizes;
};
template <class C>
using TypesIn = typename TypesInOf<C>::type;

// Calls fn(TypeTag<C>), where C is the type that this dtype is computed in.
template <class Fn>
void with_compute(tn_dtype dtype, Fn&& fn) {
  if ((Whole::kMask & TN_MASK(dtype)) != 0) return fn(TypeTag<int64_t>{});
  if (dtype == TN_DTYPE_F64) return fn(TypeTag<double>{});
  fn(TypeTag<float>{});
}
template <class Fn>
void with_float(tn_dtype dtype, Fn&& fn) {
  if (dtype == TN_DTYPE_F64) return fn(TypeTag<double>{});
  fn(TypeTag<float>{});
}

// All bytes of a view, from its first element on.
template <class Byte>
Ptr<Byte> bytes_of(const tn_view& view) {
  Ptr<Byte> bytes{};
  with_type(Sizes{}, bits_of(view.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
    bytes = ptr_cast<Byte>(pointer<Element>(view));
  });
  return bytes;
}

struct Source {
  Ptr<const uint8_t> at;
  tn_dtype dtype;
};
inline Source source(const tn_view& view) { return {bytes_of<const uint8_t>(view), view.dtype}; }
inline Source source_or_none(const tn_view* view) {
  return view != nullptr ? source(*view) : Source{Ptr<const uint8_t>(nullptr), 0};
}

// Where results go; NULL: they are dropped.
struct Target {
  Ptr<uint8_t> at;
  tn_dtype dtype;
};
inline Target target(const tn_view& view) { return {bytes_of<uint8_t>(view), view.dtype}; }
inline Target target_or_none(const tn_view* view) {
  return view != nullptr ? target(*view) : Target{Ptr<uint8_t>(nullptr), 0};
}

template <class... T, class Fn>
GPU_DEVICE void visit_types(Types<T...>, tn_dtype dtype, const Fn& fn) {
  (void)((kDtype<T> == dtype ? (fn(TypeTag<T>{}), true) : false) || ...);
}

template <class C, class T>
GPU_DEVICE C to_compute(T value) {
  return static_cast<C>(widen<T>(value));
}

template <class C>
GPU_DEVICE C load_any(const Source& from, int64_t i) {
  C value{};
  visit_types(TypesIn<C>{}, from.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T element = ptr_cast<const T>(from.at)[i];
    value = to_compute<C, T>(element);
  });
  return value;
}
// Halves are rounded through f32; integers lose their high bits.
template <class C>
GPU_DEVICE void store_any(const Target& to, int64_t i, C value) {
  visit_types(TypesIn<C>{}, to.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    store<T>(ptr_cast<T>(to.at), i, value);
  });
}

}  // namespace tenon::gpu
