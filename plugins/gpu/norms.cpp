#include "norms.hpp"

#include <cmath>

#include "moments.hpp"

namespace tenon::gpu {
namespace {

template <class C>
struct Statistics : Moments<C> {
  using typename Moments<C>::State;
  Ptr<C> mean, rstd;
  double eps;
  FoldShape fold;
  GPU_DEVICE void finish(int64_t i, const State& s) const {
    const bool none = fold.count == 0;
    mean[i] = none ? C(0) : s.mean + this->origin(locate(fold.kept, fold.nkept, i));
    const C variance = none ? C(0) : s.squares / static_cast<C>(fold.count);
    rstd[i] = C(1) / std::sqrt(variance + static_cast<C>(eps));
  }
};

template <class C>
struct RootMean {
  using State = double;
  Source x;
  Ptr<C> rstd;
  double eps;
  int64_t count;
  GPU_FN State start() const { return 0; }
  GPU_FN void merge(State& into, const State& other) const { into += other; }
  GPU_DEVICE void take(State& s, const Places& p, int64_t) const {
    C v[kFoldBlock];
    load_block(x, p, C(0), v);
    for (C& each : v) each *= each;
    s += sum_of_block(v);
  }
  GPU_DEVICE void finish(int64_t i, const State& s) const {
    const double mean = count == 0 ? 0.0 : s / static_cast<double>(count);
    rstd[i] = static_cast<C>(1 / std::sqrt(mean + eps));
  }
};

template <class C>
struct Pairs {
  struct State {
    double dot, sum;
  };
  Source g, x;
  Ptr<const C> mean, rstd;
  Source weight;
  bool by_element;
  int64_t share;
  double over;
  Ptr<C> dots, sums;
  Target low_dots, low_sums;  // instead, of a half type
  GPU_FN State start() const { return {0, 0}; }
  GPU_FN void merge(State& into, const State& other) const {
    into.dot += other.dot;
    into.sum += other.sum;
  }
  GPU_DEVICE void take(State& s, const Places& p, int64_t result) const {
    C gs[kFoldBlock], hats[kFoldBlock];
    load_block(g, p, C(0), gs);
    load_block(x, p, C(0), hats);
    C m = C(0), r = C(0);
    if (!by_element) {
      const int64_t which = share == 1 ? result : result / share;
      if (mean != nullptr) m = mean[which];
      r = rstd[which];
    }
    for (uint32_t k = 0; k < kFoldBlock; ++k) {
      if (k >= p.n) continue;
      const int64_t at = p.position + k * p.step;
      if (by_element) {
        if (mean != nullptr) m = mean[at];
        r = rstd[at];
      }
      if (weight.at != nullptr) gs[k] *= load_any<C>(weight, at);
      hats[k] = (hats[k] - m) * r * gs[k];
    }
    s.dot += sum_of_block(hats);
    s.sum += sum_of_block(gs);
  }
  GPU_DEVICE void finish(int64_t i, const State& s) const {
    if (low_dots.at != nullptr) {
      store_any<C>(low_dots, i, static_cast<C>(s.dot * over));
      if (low_sums.at != nullptr) store_any<C>(low_sums, i, static_cast<C>(s.sum * over));
      return;
    }
    dots[i] = static_cast<C>(s.dot * over);
    if (sums != nullptr) sums[i] = static_cast<C>(s.sum * over);
  }
};

template <class T>
struct Applying {
  using C = Compute<T>;
  Cycle statistics, parameters;
  Ptr<const C> mean, rstd, a, b;
  Source weight, bias;
  Ptr<const T> x, g;
  GPU_DEVICE C operator()(int64_t s, int64_t p, C x_value, C g_value) const {
    const C r = rstd[s];
    C centred = x_value, w = C(1);
    if (mean != nullptr) centred -= mean[s];
    if (weight.at != nullptr) w = load_any<C>(weight, p);
    if (g == nullptr) {
      C shift = C(0);
      if (bias.at != nullptr) shift = load_any<C>(bias, p);
      return centred * (r * w) + shift;
    }
    C whole = g_value * w;
    if (a != nullptr) whole -= a[s];
    return r * (whole - centred * r * b[s]);
  }
};

// kN elements of one vector; if `same`, all have the same position in both cycles.
template <class T, uint32_t kN>
GPU_KERNEL norm_apply(Applying<T> fn, int64_t count, bool same, Ptr<T> y) {
  using C = Compute<T>;
  for (int64_t i = int64_t{kN} * first_thread(); i < count; i += int64_t{kN} * thread_count()) {
    const Vec<T, kN> xs = load_vec<kN>(fn.x + i);
    const Vec<T, kN> gs = fn.g != nullptr ? load_vec<kN>(fn.g + i) : xs;
    Vec<T, kN> made;
    int64_t s = fn.statistics(i), p = fn.parameters(i);
    GPU_UNROLL
    for (uint32_t k = 0; k < kN; ++k) {
      if (k != 0 && !same) s = fn.statistics(i + k), p = fn.parameters(i + k);
      const C value = fn(s, p, widen<T>(xs.at[k]), widen<T>(gs.at[k]));
      made.at[k] = narrow<T>(value);
    }
    store_vec<kN>(y + i, made);
  }
}

template <class T, uint32_t kN>
void launch_apply(const tn_call& call, const Applying<T>& fn, int64_t count) {
  const bool same = fn.statistics.step % kN == 0 && fn.parameters.step % kN == 0;
  launch(call, grid_of(count, kN), norm_apply<T, kN>, fn, count, same, out<T>(output(call)));
}

bool is_even(const tn_view* view) {
  return view == nullptr || reinterpret_cast<uintptr_t>(view->data) % 16 == 0;
}

}  // namespace

Cycle::Cycle(int64_t step_, int64_t count_)
    : step(std::max<int64_t>(1, step_)), count(std::max<int64_t>(1, count_)) {
  constexpr int64_t kMost = int64_t{1} << 31;
  by_step = Divider(static_cast<uint32_t>(std::min(step, kMost)));
  by_count = Divider(static_cast<uint32_t>(std::min(count, kMost)));
}

void run_statistics(const tn_call& call, const FoldShape& fold, const tn_view& x, const Slot& mean,
                    const Slot& rstd, double eps, uint64_t scratch_at) {
  with_float(x.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Ptr<C> roots = bind<C>(call, rstd);
    if (mean.view != nullptr || mean.offset >= 0)
      run_fold(call, fold, {&x}, Statistics<C>{{source(x)}, bind<C>(call, mean), roots, eps, fold},
               scratch_at);
    else
      run_fold(call, fold, {&x}, RootMean<C>{source(x), roots, eps, fold.count}, scratch_at);
  });
}

void run_pairs(const tn_call& call, const FoldShape& fold, const PairSums& p, uint64_t scratch_at) {
  with_float(p.x->dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    run_fold(call, fold, {p.g, p.x},
             Pairs<C>{source(*p.g), source(*p.x), in_or_null<C>(p.mean), in<C>(*p.rstd),
                      source_or_none(p.weight), p.by_element, p.share, p.over,
                      p.narrow ? Ptr<C>(nullptr) : bind<C>(call, p.dots),
                      p.narrow ? Ptr<C>(nullptr) : bind<C>(call, p.sums),
                      target_or_none(p.narrow ? p.dots.view : nullptr),
                      target_or_none(p.narrow ? p.sums.view : nullptr)},
             scratch_at);
  });
}

void run_apply(const tn_call& call, const Apply& given, const Cycle& statistics,
               const Cycle& parameters) {
  const int64_t count = numel(*given.x);
  if (count == 0) return;
  with_type(Floats{}, given.x->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    constexpr uint32_t kN = 16 / sizeof(T);
    const Applying<T> fn{statistics,
                         parameters,
                         in_or_null<C>(given.mean),
                         in<C>(*given.rstd),
                         bind<const C>(call, given.a),
                         bind<const C>(call, given.b),
                         source_or_none(given.weight),
                         source_or_none(given.bias),
                         in<T>(*given.x),
                         in_or_null<T>(given.g)};
    const bool even =
        count % kN == 0 && is_even(given.x) && is_even(given.g) && is_even(&output(call));
    even ? launch_apply<T, kN>(call, fn, count) : launch_apply<T, 1>(call, fn, count);
  });
}

}  // namespace tenon::gpu
