// ctc_loss and its backward (Graves et al. 2006), in logarithms; threads share the samples. Backwards the way forwards is taken once
// more, which costs less than keeping its T·(2·S + 1) logarithms a sample.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/ctc.cpp"
#include <hwy/foreach_target.h>

#include "kernels.hpp"
#include "ops/ctc-inl.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// The part of p(labels) in each place before step t, from that behind it: what came in by each of three ways.
template <class T, class C>
HWY_INLINE void retreat(Lattice<T>& ways, int64_t t, const C* share, C* before) {
  const LaneTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  C* const into = ways.emission();
  ways.emit(t);
  for (int64_t s = 0; s < ways.whole; s += lanes)
    hn::StoreU(hn::Sub(hn::LoadU(d, into + s), hn::LoadU(d, ways.alpha(t + 1) + s)), d, into + s);
  const auto part = [&](auto from, int64_t s) HWY_ATTR {
    return hn::Mul(hn::LoadU(d, share + s), exp_below(d, hn::Add(from, hn::LoadU(d, into + s))));
  };
  for (int64_t s = 0; s < ways.whole; s += lanes) {
    const auto from = hn::LoadU(d, ways.alpha(t) + s);
    const auto over = hn::Add(from, hn::LoadU(d, ways.jumps() + s + 2));
    hn::StoreU(hn::Add(part(from, s), hn::Add(part(from, s + 1), part(over, s + 2))), d,
               before + s);
  }
  std::fill_n(into, ways.whole, Lattice<T>::kNever);
}

template <class T>
void gradient_of(const CtcBatch& of, const T* x, int64_t n, Compute<T> g, bool normalized, T* out) {
  using C = Compute<T>;
  const LaneTag<T> d;
  Lattice<T> ways(of, x, n, true);
  const auto row = [&](int64_t t) { return out + (t * of.batch + n) * of.classes; };
  const C total = ways.log_probability();
  const bool possible = !(total < Lattice<T>::kNever / 10);
  for (int64_t t = possible ? ways.steps : 0; t < of.steps; ++t)
    std::fill_n(row(t), of.classes, T(C{0}));
  if (!possible) return;
  std::vector<C> share(static_cast<size_t>(ways.stride)), before = share,
                                                          sums(static_cast<size_t>(of.classes));
  const auto classes = static_cast<size_t>(of.classes);
  for (int64_t s = std::max<int64_t>(0, ways.size - 2); s < ways.size; ++s)
    share[static_cast<size_t>(s)] = g * std::exp(ways.alpha(ways.steps)[s] - total);
  for (int64_t t = ways.steps; t-- > 0;) {
    const auto scale = hn::Set(d, normalized ? g : C{0});
    map_row(ways.step(t), sums.data(), classes,
            [=](auto v) HWY_ATTR { return hn::Mul(exp_below(d, v), scale); });
    for (size_t s = 0; s < ways.path.size(); ++s)
      sums[static_cast<size_t>(ways.path[s])] -= share[s];
    map_row(sums.data(), row(t), classes, [](auto v) HWY_ATTR { return v; });
    if (t == 0) break;
    retreat(ways, t, share.data(), before.data());
    share.swap(before);
  }
}

// Kernels are found by the first tensor's dtype, which in the backward is that of g.
void forward(const tn_call& call) {
  using arg = tenon::arg::ctc_loss;
  const CtcBatch of(arg{}, call);
  const tn_view& log_probs = input(call, arg::log_probs);
  visit_dtype<TN_MASK_FLOAT>(log_probs.dtype, [&]<class T>(Tag<T>) {
    using C = Compute<T>;
    const T* const x = data_of<const T>(log_probs);
    C* const loss = data_of<C>(output(call));
    parallel_for(of.batch, of.grain(kGrainHeavy), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const C total = Lattice<T>(of, x, n, false).log_probability();
        loss[n] = total < Lattice<T>::kNever / 10 ? std::numeric_limits<C>::infinity() : -total;
      }
    });
  });
}
void backward(const tn_call& call) {
  using arg = tenon::arg::ctc_loss_backward;
  const CtcBatch of(arg{}, call);
  const tn_view& log_probs = input(call, arg::log_probs);
  const bool normalized = call.args[arg::normalized].as.i != 0;
  visit_dtype<TN_MASK_FLOAT>(log_probs.dtype, [&]<class T>(Tag<T>) {
    const T* const x = data_of<const T>(log_probs);
    const Compute<T>* const g = data_of<const Compute<T>>(input(call, arg::g));
    parallel_for(of.batch, of.grain(kGrainHeavy), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        gradient_of(of, x, n, g[n], normalized, data_of<T>(output(call)));
    });
  });
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_CTC_LOSS, .dtypes = TN_MASK_FLOAT, .run = run_of<forward>});
  list.add(
      {.schema = TN_SCHEMA_CTC_LOSS_BACKWARD, .dtypes = TN_MASK_FLOAT, .run = run_of<backward>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_ctc_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
