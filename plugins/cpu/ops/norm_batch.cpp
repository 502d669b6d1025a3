// batch_norm: statistics over all but the channel, through the engine of reductions; then one pass.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm_batch.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "channels-inl.hpp"
#include "float_kernels.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class C>
void put_moments(const MomentsOf<C>&, char* out, int64_t at, const Moments& state, int64_t) {
  reinterpret_cast<Moments*>(out)[at] = state;
}

template <class T>
std::vector<Moments> channel_moments(const tn_view& x, const Extent& e) {
  using C = Compute<T>;
  std::vector<Moments> moments(static_cast<size_t>(e.c));
  ReducePlan plan = plan_rows(x, {e.c}, {e.s}, {e.n, e.s}, {e.c * e.s, 1});
  plan.out = reinterpret_cast<char*>(moments.data());
  const MomentsOf<C> r;
  Reduction<MomentsOf<C>>{r, plan, source_of<C, TN_MASK(kDtype<T>)>(kDtype<T>),
                          put_each<MomentsOf<C>, put_moments<C>>}
      .all();
  return moments;
}

// Samples of few elements a channel: the values of the channels laid out as one sample is.
template <class S>
std::vector<S> spread(const std::vector<S>& values, int64_t s) {
  std::vector<S> out;
  out.reserve(values.size() * static_cast<size_t>(s));
  for (const S value : values) out.insert(out.end(), static_cast<size_t>(s), value);
  return out;
}
template <class T, class S>
HWY_INLINE void apply_sample(const T* x, T* y, size_t n, const S* mean, const S* scale,
                             const S* shift) {
  const LaneTag<T> d;
  const auto f = [](auto v, auto m, auto k, auto b)
                     HWY_ATTR { return hn::MulAdd(hn::Sub(v, m), k, b); };
  for_lanes(
      d, n,
      [&](size_t i) HWY_ATTR {
        store(f(load(d, x + i), hn::LoadU(d, mean + i), hn::LoadU(d, scale + i),
                hn::LoadU(d, shift + i)),
              d, y + i);
      },
      [&](size_t i, size_t k) HWY_ATTR {
        store_first(f(load_first(d, x + i, k, 0), load_first(d, mean + i, k, 0),
                      load_first(d, scale + i, k, 0), load_first(d, shift + i, k, 0)),
                    d, y + i, k);
      });
}

template <class T>
void batch_norm(const tn_call& call) {
  using arg = tenon::arg::batch_norm;
  using S = Compute<T>;
  const tn_view& view = input(call, arg::x);
  const Extent e = extent_of(view);
  const double eps = real_arg(call, arg::eps);
  S* const means = data_of<S>(output(call, arg::result::mean));
  S* const rstds = data_of<S>(output(call, arg::result::rstd));
  if (call.args[arg::training].as.i != 0) {
    const std::vector<Moments> moments = channel_moments<T>(view, e);
    for (int64_t c = 0; c < e.c; ++c) {
      means[c] = static_cast<S>(moments[c].mean);
      rstds[c] = static_cast<S>(1 / std::sqrt(moments[c].m2 / moments[c].n + eps));
    }
  } else {
    const S* const running = data_of<const S>(input(call, arg::running_mean));
    const S* const var = data_of<const S>(input(call, arg::running_var));
    for (int64_t c = 0; c < e.c; ++c) {
      means[c] = running[c];
      rstds[c] = static_cast<S>(1 / std::sqrt(var[c] + eps));
    }
  }
  std::vector<S> mean(means, means + e.c), scale = channel_values<S>(call, arg::weight, e.c, 1);
  std::vector<S> shift = channel_values<S>(call, arg::bias, e.c, 0);
  for (size_t c = 0; c < scale.size(); ++c) scale[c] *= rstds[c];
  const T* const x = data_of<const T>(view);
  T* const y = data_of<T>(output(call));
  if (e.s < 16) {
    mean = spread(mean, e.s), scale = spread(scale, e.s), shift = spread(shift, e.s);
    const int64_t size = e.c * e.s;
    parallel_for(e.n, std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, size)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t n = begin; n < end; ++n)
                     apply_sample<T, S>(x + n * size, y + n * size, static_cast<size_t>(size),
                                        mean.data(), scale.data(), shift.data());
                 });
    return;
  }
  parallel_for(e.n * e.c, std::max<int64_t>(1, kGrainMath / e.s), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const size_t c = static_cast<size_t>(i % e.c);
      apply_channel<T, S>(x + i * e.s, y + i * e.s, e.s, mean[c], scale[c], shift[c]);
    }
  });
}

void add_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    list.add({.schema = TN_SCHEMA_BATCH_NORM,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<batch_norm<T>>});
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_norm_batch_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
