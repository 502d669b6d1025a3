// Rows of floating elements as vectors: loads and stores that convert the halves to f32 and back,
// tails, folds. Included once for each instruction set, inside no namespace.
#include <algorithm>
#include <limits>

#include "dispatch.hpp"

#if defined(TENON_CPU_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_LANES_INL
#undef TENON_CPU_LANES_INL
#else
#define TENON_CPU_LANES_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors over T hold float or double.
template <class T>
using LaneTag = hn::ScalableTag<Compute<T>>;

// The scalar target's conversions of f16 know no infinity and no NaN, and truncate.
template <class T>
inline constexpr bool kByItself = std::is_same_v<T, F16>&& HWY_TARGET == HWY_SCALAR;

template <class D, class T>
HWY_INLINE hn::Vec<D> load(D d, const T* p) {
  if constexpr (std::is_same_v<T, BF16>) {
    const hn::Rebind<uint16_t, D> d16;
    const hn::Rebind<uint32_t, D> d32;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, &p->bits))));
  } else if constexpr (kByItself<T>) {
    return hn::Set(d, *p);
  } else if constexpr (std::is_same_v<T, F16>) {
    const hn::Rebind<hwy::float16_t, D> d16;
    return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(p)));
  } else if constexpr (!std::is_same_v<T, hn::TFromD<D>>) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), p));  // float into lanes of double
  } else {
    return hn::LoadU(d, p);
  }
}

template <class D, class T>
HWY_INLINE void store(hn::Vec<D> v, D d, T* p) {
  if constexpr (std::is_same_v<T, BF16>) {  // to nearest, ties to even; NaN stays NaN
    const hn::Rebind<uint32_t, D> d32;
    const hn::Rebind<int32_t, D> di32;
    const hn::Rebind<uint16_t, D> d16;
    const auto bits = hn::BitCast(d32, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fff))));
    const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(d32, 0x40));
    const auto nan = hn::RebindMask(d32, hn::IsNaN(v));
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di32, hn::IfThenElse(nan, quiet, rounded))), d16,
               &p->bits);
  } else if constexpr (kByItself<T>) {
    *p = hn::GetLane(v);
  } else if constexpr (std::is_same_v<T, F16>) {
    const hn::Rebind<hwy::float16_t, D> d16;
    hn::StoreU(hn::DemoteTo(d16, v), d16, reinterpret_cast<hwy::float16_t*>(p));
  } else {
    hn::StoreU(v, d, p);
  }
}

// The first n < Lanes(d) elements; the other lanes are `fill`. Touches nothing behind p + n.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_first(D d, const T* p, size_t n, hn::TFromD<D> fill) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  if constexpr (std::is_same_v<T, hn::TFromD<D>>) {
    const auto first = hn::FirstN(d, n);
    return hn::IfThenElse(first, hn::MaskedLoad(first, d, p), hn::Set(d, fill));
  } else if constexpr (!is_half_v<T>) {
    const hn::Rebind<T, D> narrow;
    const auto wide = hn::PromoteTo(d, load_first(narrow, p, n, T(0)));
    return hn::IfThenElse(hn::FirstN(d, n), wide, hn::Set(d, fill));  // `fill` may be no T
  }
#endif
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(hn::Set(d, fill), d, lanes);
  for (size_t i = 0; i < n; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
}

template <class D, class T>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* p, size_t n) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  if constexpr (!is_half_v<T>) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, p);
    return;
  }
#endif
  HWY_ALIGN Compute<T> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < n; ++i) p[i] = lanes[i];
}

// each(i, count) over [0, n) in whole vectors (count == Lanes) and a last shorter
// one, both inlined.
template <class D, class Whole, class Rest>
HWY_INLINE void for_lanes(D d, size_t n, Whole&& whole, Rest&& rest) {
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) whole(i);
  if (i < n) rest(i, n - i);
}

// y[i] = f(x[i]) over a row, vector by vector; x and y may be the same.
template <class X, class Y, class F>
HWY_INLINE void map_row(const X* x, Y* y, size_t n, F&& f) {
  const LaneTag<X> d;
  for_lanes(
      d, n, [&](size_t i) HWY_ATTR { store(f(load(d, x + i)), d, y + i); },
      [&](size_t i, size_t rest)
          HWY_ATTR { store_first(f(load_first(d, x + i, rest, 0)), d, y + i, rest); });
}

// z[i] = f(x[i], y[i]).
template <class X, class Y, class Z, class F>
HWY_INLINE void map_rows(const X* x, const Y* y, Z* z, size_t n, F&& f) {
  const LaneTag<X> d;
  for_lanes(
      d, n, [&](size_t i) HWY_ATTR { store(f(load(d, x + i), load(d, y + i)), d, z + i); },
      [&](size_t i, size_t rest) HWY_ATTR {
        store_first(f(load_first(d, x + i, rest, 0), load_first(d, y + i, rest, 0)), d, z + i,
                    rest);
      });
}

// acc = step(acc, x[i]) in four independent accumulators, merged in a fixed order. `fill` is an
// element that changes nothing.
template <class D, class T, class Step, class Merge>
HWY_INLINE hn::Vec<D> fold(D d, const T* x, size_t n, hn::Vec<D> start, hn::TFromD<D> fill,
                           Step&& step, Merge&& merge) {
  const size_t lanes = hn::Lanes(d);
  auto a = start;
  size_t i = 0;
  if (n >= 4 * lanes) {
    auto b = start, c = start, e = start;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      a = step(a, load(d, x + i));
      b = step(b, load(d, x + i + lanes));
      c = step(c, load(d, x + i + 2 * lanes));
      e = step(e, load(d, x + i + 3 * lanes));
    }
    a = merge(merge(a, b), merge(c, e));
  }
  for (; i + lanes <= n; i += lanes) a = step(a, load(d, x + i));
  if (i < n) a = step(a, load_first(d, x + i, n - i, fill));
  return a;
}

template <class D, class T>
HWY_INLINE hn::TFromD<D> sum_of(D d, const T* x, size_t n) {
  const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
  return hn::GetLane(hn::SumOfLanes(d, fold(d, x, n, hn::Zero(d), 0, add, add)));
}

// Σ f(a[i], b[i]) over a row in two accumulators; f of two zeros is zero.
template <class D, class A, class B, class F>
HWY_INLINE hn::TFromD<D> sum_pairs(D d, const A* a, const B* b, size_t n, F&& f) {
  const size_t lanes = hn::Lanes(d);
  auto s = hn::Zero(d), t = s;
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    s = hn::Add(s, f(load(d, a + i), load(d, b + i)));
    t = hn::Add(t, f(load(d, a + i + lanes), load(d, b + i + lanes)));
  }
  for (; i + lanes <= n; i += lanes) s = hn::Add(s, f(load(d, a + i), load(d, b + i)));
  if (i < n) t = hn::Add(t, f(load_first(d, a + i, n - i, 0), load_first(d, b + i, n - i, 0)));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(s, t)));
}

// The greater (smaller) of two, or NaN when either is.
template <class D, class V>
HWY_INLINE V max_nan(D, V acc, V x) {
  return hn::IfThenElse(hn::Or(hn::Gt(x, acc), hn::IsNaN(x)), x, acc);
}
template <class D, class V>
HWY_INLINE V min_nan(D, V acc, V x) {
  return hn::IfThenElse(hn::Or(hn::Lt(x, acc), hn::IsNaN(x)), x, acc);
}
template <class D, class V>
HWY_INLINE hn::TFromD<D> max_of_lanes(D d, V v) {
  if (!hn::AllFalse(d, hn::IsNaN(v))) return std::numeric_limits<hn::TFromD<D>>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, v));
}
template <class D, class V>
HWY_INLINE hn::TFromD<D> min_of_lanes(D d, V v) {
  if (!hn::AllFalse(d, hn::IsNaN(v))) return std::numeric_limits<hn::TFromD<D>>::quiet_NaN();
  return hn::GetLane(hn::MinOfLanes(d, v));
}
template <class D, class T>
HWY_INLINE hn::TFromD<D> max_of(D d, const T* x, size_t n) {
  const auto lowest = -std::numeric_limits<hn::TFromD<D>>::infinity();
  const auto step = [d](auto a, auto b) HWY_ATTR { return max_nan(d, a, b); };
  return max_of_lanes(d, fold(d, x, n, hn::Set(d, lowest), lowest, step, step));
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
