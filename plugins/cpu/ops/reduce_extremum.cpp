// min, max, argmin, argmax. NaN wins; of equal elements the first is reported. Integers are
// compared in 64 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce_extremum.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "reduce-inl.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kFewElements = 4;  // are compared faster than a vector's lanes

template <class T, bool Max>
struct Extremum {
  using Elem = T;
  using State = T;
  static constexpr bool ordered = false;
  static T start() {
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::has_infinity) return Max ? -Limits::infinity() : Limits::infinity();
    return Max ? Limits::lowest() : Limits::max();
  }
  static bool better(T a, T b) { return (Max ? a > b : a < b) || (a != a && b == b); }
  void merge(T& into, T other) const { into = better(other, into) ? other : into; }
  template <class D, class V>
  static HWY_INLINE V step(D, V acc, V x) {
    auto wins = Max ? hn::Gt(x, acc) : hn::Lt(x, acc);
    if constexpr (std::is_floating_point_v<T>) wins = hn::Or(wins, hn::IsNaN(x));
    return hn::IfThenElse(wins, x, acc);
  }
  // The extreme of whole vectors without minding NaN: x·0 is NaN for NaN, and for infinity, which then costs a second look.
  static HWY_INLINE bool quick(const T* x, int64_t n, T& found) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto pick = [](auto a, auto b) HWY_ATTR { return Max ? hn::Max(a, b) : hn::Min(a, b); };
    const auto zero = hn::Zero(d);
    auto a = hn::Set(d, start()), b = a, c = zero, e = zero;
    for (int64_t i = 0; i + 2 * lanes <= n; i += 2 * lanes) {
      const auto v = hn::LoadU(d, x + i), w = hn::LoadU(d, x + i + lanes);
      a = pick(a, v), b = pick(b, w);
      c = hn::MulAdd(v, zero, c), e = hn::MulAdd(w, zero, e);
    }
    a = pick(a, b);
    found = Max ? hn::GetLane(hn::MaxOfLanes(d, a)) : hn::GetLane(hn::MinOfLanes(d, a));
    return hn::AllFalse(d, hn::IsNaN(hn::Add(c, e)));
  }
  HWY_INLINE T run(const T* x, int64_t n, int64_t at) const {
    if (n <= kFewElements) {
      T best = x[0];
      for (int64_t i = 1; i < n; ++i) merge(best, x[i]);
      return best;
    }
    const hn::ScalableTag<T> d;
    if constexpr (std::is_floating_point_v<T>) {
      const int64_t whole = n - n % (2 * static_cast<int64_t>(hn::Lanes(d)));
      T found;
      if (whole > 0 && quick(x, whole, found)) {
        if (whole < n) merge(found, run(x + whole, n - whole, at));
        return found;
      }
    }
    const auto pick = [d](auto a, auto b) HWY_ATTR { return step(d, a, b); };
    const auto folded =
        fold(d, x, static_cast<size_t>(n), hn::Set(d, start()), start(), pick, pick);
    if constexpr (std::is_floating_point_v<T>) {
      const auto spoilt = hn::IsNaN(folded);
      if (!hn::AllFalse(d, spoilt))
        return hn::ExtractLane(folded, static_cast<size_t>(hn::FindFirstTrue(d, spoilt)));
    }
    return hn::GetLane(Max ? hn::MaxOfLanes(d, folded) : hn::MinOfLanes(d, folded));
  }
  void columns(const T* x, int64_t stride, int64_t rows, int64_t cols, int64_t, T* s) const {
    const hn::ScalableTag<T> d;
    const auto into = into_states(d, s, [](T a, T b) { return better(b, a) ? b : a; });
    const auto first = hn::Set(d, start());
    // x − x is 0 but for NaN and infinities: those are looked at once more, with care.
    if constexpr (std::is_floating_point_v<T>) {
      auto spoilt = hn::Zero(d);
      fold_columns(
          d, x, stride, rows, cols, first,
          [&](auto a, auto b) HWY_ATTR {
            spoilt = hn::Or(spoilt, hn::Sub(b, b));
            return Max ? hn::Max(a, b) : hn::Min(a, b);
          },
          into);
      if (hn::AllFalse(d, hn::IsNaN(spoilt))) return;
    }
    fold_columns(
        d, x, stride, rows, cols, first, [d](auto a, auto b) HWY_ATTR { return step(d, a, b); },
        into);
  }
};

// The position is looked for only in runs that hold something better.
template <class T, bool Max>
struct Position {
  using Elem = T;
  using Value = Extremum<T, Max>;
  struct State {
    T value;
    int64_t index;
  };
  static constexpr bool ordered = true;
  State start() const { return {Value::start(), -1}; }
  static bool same(T a, T b) { return a == b || (a != a && b != b); }
  void merge(State& into, const State& other) const {
    if (other.index >= 0 && (into.index < 0 || Value::better(other.value, into.value)))
      into = other;
  }
  State run(const T* x, int64_t n, int64_t at) const {
    if (n <= kFewElements) {
      State best{x[0], at};
      for (int64_t i = 1; i < n; ++i)
        if (Value::better(x[i], best.value)) best = {x[i], at + i};
      return best;
    }
    const T value = Value().run(x, n, at);
    int64_t i = 0;
    if (value == value) {  // and is there
      const hn::ScalableTag<T> d;
      const auto lanes = static_cast<int64_t>(hn::Lanes(d));
      const auto wanted = hn::Set(d, value);
      auto found = hn::FirstN(d, 0);
      while (i + lanes <= n && hn::AllFalse(d, found = hn::Eq(hn::LoadU(d, x + i), wanted)))
        i += lanes;
      if (i + lanes > n)
        found = hn::Eq(load_first(d, x + i, static_cast<size_t>(n - i), value), wanted);
      return {value, at + i + static_cast<int64_t>(hn::FindFirstTrue(d, found))};
    }
    while (!same(x[i], value)) ++i;
    return {value, at + i};
  }
  // Row numbers are kept in lanes beside the values.
  void columns(const T* x, int64_t stride, int64_t rows, int64_t cols, int64_t at, State* s) const {
    const hn::ScalableTag<T> d;
    const hn::RebindToSigned<decltype(d)> di;
    using Row = hn::TFromD<decltype(di)>;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    HWY_ALIGN T best[hn::MaxLanes(d)];
    HWY_ALIGN Row where[hn::MaxLanes(d)];
    for (int64_t c = 0; c < cols; c += lanes) {
      const int64_t n = std::min(lanes, cols - c);
      const auto row = [&](int64_t r) HWY_ATTR { return load_columns(d, x + r * stride + c, n); };
      auto value = row(0);
      auto index = hn::Zero(di);
      for (int64_t r = 1; r < rows; ++r) {
        const auto v = row(r);
        auto wins = Max ? hn::Gt(v, value) : hn::Lt(v, value);
        if constexpr (std::is_floating_point_v<T>)
          wins = hn::Or(wins, hn::AndNot(hn::IsNaN(value), hn::IsNaN(v)));
        value = hn::IfThenElse(wins, v, value);
        index = hn::IfThenElse(hn::RebindMask(di, wins), hn::Set(di, static_cast<Row>(r)), index);
      }
      hn::Store(value, d, best);
      hn::Store(index, di, where);
      for (int64_t i = 0; i < n; ++i) merge(s[c + i], {best[i], at + where[i]});
    }
  }
};

template <class Out, class R>
void put(const R&, char* out, int64_t at, const typename R::State& state, int64_t) {
  reinterpret_cast<Out*>(out)[at] = convert<typename R::Elem, Out>(state);
}
template <class R>
void put_index(const R&, char* out, int64_t at, const typename R::State& state, int64_t) {
  reinterpret_cast<int64_t*>(out)[at] = state.index;
}
// Back from the order-keeping form of u64.
template <class R>
void put_u64(const R&, char* out, int64_t at, const typename R::State& state, int64_t) {
  reinterpret_cast<uint64_t*>(out)[at] = static_cast<uint64_t>(state) ^ (uint64_t{1} << 63);
}

template <bool Max, class Elem, uint64_t Mask>
void value_of(const tn_call& call) {
  using R = Extremum<Elem, Max>;
  const tn_dtype dtype = input(call, arg::max::x).dtype;
  const auto finish = visit_dtype<Mask>(dtype, []<class Out>(Tag<Out>) -> PutFn<R> {
    if constexpr (std::is_same_v<Out, uint64_t>) return put_each<R, put_u64<R>>;
    return put_each<R, put<Out, R>>;
  });
  reduce_call(call, R(), source_of<Elem, Mask>(dtype), finish);
}
// Positions among one element each.
void all_first(const ReducePlan& plan) {
  const uint32_t last = plan.nkept - 1;
  const int64_t inner = plan.nkept == 0 ? 1 : plan.kept_shape[last],
                step = plan.nkept == 0 ? 1 : plan.out_step[last];
  for (int64_t i = 0; i < plan.kept; i += inner) {
    int64_t from, to;
    plan.locate(i, from, to);
    int64_t* const out = reinterpret_cast<int64_t*>(plan.out) + to;
    for (int64_t j = 0; j < inner; ++j) out[j * step] = 0;
  }
}
template <bool Max, class Elem, uint64_t Mask>
void position_of(const tn_call& call) {
  using R = Position<Elem, Max>;
  const tn_view& x = input(call, arg::argmax::x);
  if (numel(x) > 0 && numel(x) == numel(output(call))) return all_first(plan_reduction(call, true));
  reduce_call(call, R(), source_of<Elem, Mask>(x.dtype), put_each<R, put_index<R>>);
}

constexpr uint64_t kNarrow = TN_MASK(TN_DTYPE_F32) | TN_MASK_HALF;
constexpr uint64_t kDouble = TN_MASK(TN_DTYPE_F64);
constexpr uint64_t kWhole = TN_MASK_INT | TN_MASK_BOOL;

void add_kernels(KernelList& list) {
  list.add(
      {.schema = TN_SCHEMA_MIN, .dtypes = kNarrow, .run = run_of<value_of<false, float, kNarrow>>});
  list.add({.schema = TN_SCHEMA_MIN,
            .dtypes = kDouble,
            .run = run_of<value_of<false, double, kDouble>>});
  list.add(
      {.schema = TN_SCHEMA_MIN, .dtypes = kWhole, .run = run_of<value_of<false, int64_t, kWhole>>});
  list.add(
      {.schema = TN_SCHEMA_MAX, .dtypes = kNarrow, .run = run_of<value_of<true, float, kNarrow>>});
  list.add(
      {.schema = TN_SCHEMA_MAX, .dtypes = kDouble, .run = run_of<value_of<true, double, kDouble>>});
  list.add(
      {.schema = TN_SCHEMA_MAX, .dtypes = kWhole, .run = run_of<value_of<true, int64_t, kWhole>>});
  list.add({.schema = TN_SCHEMA_ARGMIN,
            .dtypes = kNarrow,
            .run = run_of<position_of<false, float, kNarrow>>});
  list.add({.schema = TN_SCHEMA_ARGMIN,
            .dtypes = kDouble,
            .run = run_of<position_of<false, double, kDouble>>});
  list.add({.schema = TN_SCHEMA_ARGMIN,
            .dtypes = kWhole,
            .run = run_of<position_of<false, int64_t, kWhole>>});
  list.add({.schema = TN_SCHEMA_ARGMAX,
            .dtypes = kNarrow,
            .run = run_of<position_of<true, float, kNarrow>>});
  list.add({.schema = TN_SCHEMA_ARGMAX,
            .dtypes = kDouble,
            .run = run_of<position_of<true, double, kDouble>>});
  list.add({.schema = TN_SCHEMA_ARGMAX,
            .dtypes = kWhole,
            .run = run_of<position_of<true, int64_t, kWhole>>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_reduce_extremum_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
