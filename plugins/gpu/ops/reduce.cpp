// Reductions: sums, extrema, moments, norms. Blocks of floats are summed in float, and these sums in double; integers wrap around in 64
// bits.
#include <cmath>

#include "fold.hpp"
#include "moments.hpp"
#include "product.hpp"

namespace tenon::gpu {
namespace {

enum Op : uint32_t { kSum, kProd, kMin, kMax, kMean, kAny, kEvery, kArgmin, kArgmax };

constexpr int64_t kTop = INT64_MIN;  // maps u64 to the order of int64_t

template <class C>
using Total = std::conditional_t<std::is_same_v<C, int64_t>, int64_t, double>;

template <class C>
struct Adding {
  using State = Total<C>;
  Source x;
  Target y;
  double over;  // what the sum is divided by; 0: not divided
  GPU_FN State start() const { return State(0); }
  GPU_FN void merge(State& into, const State& other) const { into = plus(into, other); }
  GPU_DEVICE void take(State& s, const Places& p, int64_t) const {
    C v[kFoldBlock];
    load_block(x, p, C(0), v);
    if constexpr (std::is_same_v<C, int64_t>) {
      for (const C each : v) s = plus(s, each);
    } else {
      s += sum_of_block(v);
    }
  }
  GPU_DEVICE void finish(int64_t i, const State& s) const {
    if constexpr (std::is_same_v<C, int64_t>)
      store_any<C>(y, i, s);
    else
      store_any<C>(y, i, static_cast<C>(over != 0 ? s / over : s));
  }
};

template <class C>
struct Multiplying {
  using State = Total<C>;
  Source x;
  Target y;
  GPU_FN State start() const { return State(1); }
  GPU_FN void merge(State& into, const State& other) const { into = times(into, other); }
  GPU_DEVICE void take(State& s, const Places& p, int64_t) const {
    C v[kFoldBlock];
    load_block(x, p, C(1), v);
    for (const C each : v) s = times(s, static_cast<State>(each));
  }
  GPU_DEVICE void finish(int64_t i, const State& s) const { store_any<C>(y, i, static_cast<C>(s)); }
};

// NaN wins.
template <class C>
GPU_FN bool better(C x, C y, bool most) {
  return (most ? x > y : x < y) || (is_nan(x) && !is_nan(y));
}
template <class C>
GPU_FN C worst(bool most) {
  using Limits = std::numeric_limits<C>;
  if constexpr (kIsReal<C>) return most ? -Limits::infinity() : Limits::infinity();
  return most ? Limits::min() : Limits::max();
}
// u64 in the order of int64_t, and back.
template <class C>
GPU_FN C ordered(C x, tn_dtype dtype) {
  if constexpr (std::is_same_v<C, int64_t>)
    if (dtype == TN_DTYPE_U64) return x ^ kTop;
  return x;
}

template <class C>
struct Extremum {
  using State = C;
  Source x;
  Target y;
  bool most;
  GPU_FN State start() const { return worst<C>(most); }
  GPU_FN void merge(State& into, const State& other) const {
    if (better(other, into, most)) into = other;
  }
  GPU_DEVICE void take(State& s, const Places& p, int64_t) const {
    C v[kFoldBlock];
    load_block(x, p, ordered(start(), x.dtype), v);
    for (const C each : v) merge(s, ordered(each, x.dtype));
  }
  GPU_DEVICE void finish(int64_t i, const State& s) const {
    store_any<C>(y, i, ordered(s, x.dtype));
  }
};

template <class C>
struct Position {
  struct State {
    C value;
    int64_t at;  // -1: of none
  };
  Source x;
  Target y;
  bool most;
  GPU_FN State start() const { return {worst<C>(most), -1}; }
  GPU_FN void merge(State& into, const State& other) const {
    if (other.at < 0) return;
    const bool first = other.at < into.at && !better(into.value, other.value, most);
    if (into.at < 0 || first || better(other.value, into.value, most)) into = other;
  }
  GPU_DEVICE void take(State& s, const Places& p, int64_t) const {
    C v[kFoldBlock];
    load_block(x, p, C(0), v);
    for (uint32_t k = 0; k < kFoldBlock; ++k)
      if (k < p.n) merge(s, {ordered(v[k], x.dtype), p.position + k * p.step});
  }
  GPU_DEVICE void finish(int64_t i, const State& s) const { store_any<int64_t>(y, i, s.at); }
};

// Whether one is not 0, or none is. For floats the sign bit does not count.
struct Truth {
  using State = uint32_t;
  Source x;  // bits
  Target y;
  uint64_t mask;
  bool every;
  GPU_FN State start() const { return every ? 1 : 0; }
  GPU_FN void merge(State& into, const State& other) const {
    into = every ? into & other : into | other;
  }
  GPU_DEVICE void take(State& s, const Places& p, int64_t) const {
    uint64_t v[kFoldBlock];
    load_block(x, p, every ? mask : uint64_t{0}, v);
    for (const uint64_t each : v) merge(s, (each & mask) != 0 ? 1 : 0);
  }
  GPU_DEVICE void finish(int64_t i, const State& s) const {
    store_any<int64_t>(y, i, static_cast<int64_t>(s));
  }
};

template <class C>
struct Variance : Moments<C> {
  using typename Moments<C>::State;
  Target y;
  double over;
  // 0/0 and x/0 give what IEEE says.
  GPU_DEVICE void finish(int64_t i, const State& s) const {
    store_any<C>(y, i, static_cast<C>(static_cast<double>(s.squares) / over));
  }
};

// log Σ exp(x).
template <class C>
struct LogSum : Exps<C> {
  using typename Exps<C>::State;
  Target y;
  GPU_DEVICE void finish(int64_t i, const State& s) const {
    store_any<C>(y, i, this->is_finite(s.top) ? s.top + std::log(s.sum) : s.top);
  }
};

enum Norm : uint32_t { kCounted, kAbsolute, kRoot, kGreatest, kSmallest, kPowers };

// Squares and powers are summed in double, so that f32 neither overflows nor underflows.
template <class C>
struct NormOf {
  using State = double;
  Source x;
  Target y;
  Norm how;
  double p;
  GPU_FN State start() const {
    return how == kSmallest ? std::numeric_limits<double>::infinity() : 0.0;
  }
  GPU_FN void merge(State& into, const State& other) const {
    if (how == kGreatest || how == kSmallest)
      into = better(other, into, how == kGreatest) ? other : into;
    else
      into += other;
  }
  GPU_DEVICE void take(State& s, const Places& places, int64_t) const {
    C v[kFoldBlock];
    load_block(x, places, how == kSmallest ? std::numeric_limits<C>::infinity() : C(0), v);
    for (C& each : v) each = std::fabs(each);
    if (how == kGreatest || how == kSmallest) {
      for (const C each : v) merge(s, static_cast<double>(each));
    } else if (how == kRoot) {
      add_squares(s, v);
    } else if (how == kPowers) {
      for (uint32_t k = 0; k < kFoldBlock; ++k)
        if (k < places.n) s += std::pow(static_cast<double>(v[k]), p);
    } else {
      if (how == kCounted)
        for (C& each : v) each = each != C(0) ? C(1) : C(0);
      s += sum_of_block(v);
    }
  }
  // In C, if no square overflows or loses digits.
  GPU_FN void add_squares(State& s, C* v) const {
    C top = v[0];
    for (uint32_t k = 1; k < kFoldBlock; ++k) top = larger(top, v[k]);
    if (top == C(0)) return;
    if (top < C(1e15) && top > C(1e-12)) {
      for (uint32_t k = 0; k < kFoldBlock; ++k) v[k] *= v[k];
      s += sum_of_block(v);
      return;
    }
    for (uint32_t k = 0; k < kFoldBlock; ++k) s += static_cast<double>(v[k]) * v[k];
  }
  GPU_DEVICE void finish(int64_t i, const State& s) const {
    double norm = s;
    if (how == kRoot) norm = std::sqrt(s);
    if (how == kPowers) norm = std::pow(s, 1 / p);
    store_any<C>(y, i, static_cast<C>(norm));
  }
};

// The first argument of all reductions is x.
template <class R>
void fold_loop(const tn_call& call, const R& r, bool ordered = false) {
  run_fold(call, plan_loop(call, ordered), {&input(call, arg::sum::x)}, r);
}

void run_truth(const tn_call& call, bool every) {
  const tn_view& view = input(call, arg::sum::x);
  Source x = source(view);
  x.dtype = bits_of(view.dtype);
  const uint32_t bits = 8 * size_of(view.dtype) - ((Floats::kMask & TN_MASK(view.dtype)) != 0);
  fold_loop(call, Truth{x, target(output(call)), ~uint64_t{0} >> (64 - bits), every});
}

void run_reduce(const tn_call& call, uint32_t op) {
  const tn_view& view = input(call, arg::sum::x);
  const Source x = source(view);
  const Target y = target(output(call));
  if (op == kAny || op == kEvery) return run_truth(call, op == kEvery);
  with_compute(view.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    switch (op) {
      case kSum:
        return fold_loop(call, Adding<C>{x, y, 0});
      case kProd:
        return fold_loop(call, Multiplying<C>{x, y});
      case kMin:
      case kMax:
        return fold_loop(call, Extremum<C>{x, y, op == kMax});
      default:
        return fold_loop(call, Position<C>{x, y, op == kArgmax}, true);
    }
  });
}

void run_mean(const tn_call& call, uint32_t) {
  const FoldShape f = plan_loop(call);
  with_float(input(call, arg::mean::x).dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const double over = f.count == 0 ? std::nan("") : static_cast<double>(f.count);
    run_fold(call, f, {&input(call, arg::mean::x)},
             Adding<C>{source(input(call, arg::mean::x)), target(output(call)), over});
  });
}

void run_var(const tn_call& call, uint32_t) {
  const FoldShape f = plan_loop(call);
  with_float(input(call, arg::var::x).dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const double over =
        std::max(0.0, static_cast<double>(f.count) - real_arg(call, arg::var::correction));
    run_fold(call, f, {&input(call, arg::var::x)},
             Variance<C>{{source(input(call, arg::var::x))}, target(output(call)), over});
  });
}

void run_logsumexp(const tn_call& call, uint32_t) {
  with_float(input(call, arg::logsumexp::x).dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    fold_loop(call, LogSum<C>{{source(input(call, arg::logsumexp::x))}, target(output(call))});
  });
}

void run_norm(const tn_call& call, uint32_t) {
  const double p = real_arg(call, arg::norm::p);
  Norm how = kPowers;
  if (std::isinf(p)) how = p > 0 ? kGreatest : kSmallest;
  if (p == 0) how = kCounted;
  if (p == 1) how = kAbsolute;
  if (p == 2) how = kRoot;
  with_float(input(call, arg::norm::x).dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    fold_loop(call, NormOf<C>{source(input(call, arg::norm::x)), target(output(call)), how, p});
  });
}

uint64_t scratch_of(const tn_call& call, uint32_t op) {
  return fold_scratch(plan_loop(call, op == kArgmin || op == kArgmax));
}

}  // namespace

namespace {
FoldShape columns_of(const tn_view& x) {
  const int64_t n = x.shape[x.ndim - 1];
  return plan_fold({{n, 1}}, {{n == 0 ? 0 : numel(x) / n, n}});
}
}  // namespace

void sum_columns(const tn_call& call, const tn_view& x, const tn_view& sums) {
  with_float(x.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    run_fold(call, columns_of(x), {&x}, Adding<C>{source(x), target(sums), 0});
  });
}
uint64_t sum_columns_scratch(const tn_view& x) { return fold_scratch(columns_of(x)); }

void add_reduce_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, uint64_t dtypes,
                       void (*run)(const tn_call&, uint32_t), uint32_t op = 0) {
    list.add({.schema = schema,
              .dtypes = dtypes,
              .run = run,
              .code = op,
              .flags = TN_KERNEL_STRIDED,
              .scratch = scratch_of});
  };
  add(TN_SCHEMA_SUM, All::kMask, run_reduce, kSum);
  add(TN_SCHEMA_PROD, All::kMask, run_reduce, kProd);
  add(TN_SCHEMA_MIN, All::kMask, run_reduce, kMin);
  add(TN_SCHEMA_MAX, All::kMask, run_reduce, kMax);
  add(TN_SCHEMA_ANY, All::kMask, run_reduce, kAny);
  add(TN_SCHEMA_ALL, All::kMask, run_reduce, kEvery);
  add(TN_SCHEMA_ARGMIN, All::kMask, run_reduce, kArgmin);
  add(TN_SCHEMA_ARGMAX, All::kMask, run_reduce, kArgmax);
  add(TN_SCHEMA_MEAN, Floats::kMask, run_mean);
  add(TN_SCHEMA_VAR, Floats::kMask, run_var);
  add(TN_SCHEMA_LOGSUMEXP, Floats::kMask, run_logsumexp);
  add(TN_SCHEMA_NORM, Floats::kMask, run_norm);
}

}  // namespace tenon::gpu
