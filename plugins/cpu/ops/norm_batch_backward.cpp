// batch_norm_backward: Σ g and Σ g·(x - mean) a channel, then one pass over g and x.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm_batch_backward.cpp"
#include <hwy/foreach_target.h>

#include "channels-inl.hpp"
#include "float_kernels.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

struct Sums {
  std::vector<double> sum, dot;  // a channel
};

template <class T, class S>
Sums wide_sums(const T* g, const T* x, const Extent& e, const S* mean) {
  Sums sums{std::vector<double>(static_cast<size_t>(e.c)),
            std::vector<double>(static_cast<size_t>(e.c))};
  parallel_for(e.c, std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, e.n * e.s)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t c = begin; c < end; ++c) {
                   double sum = 0, dot = 0;
                   for (int64_t at = c * e.s; at < e.n * e.c * e.s; at += e.c * e.s)
                     add_channel_sums<T, S>(g + at, x + at, e.s, mean[c], sum, dot);
                   sums.sum[c] = sum;
                   sums.dot[c] = dot;
                 }
               });
  return sums;
}

// Few elements a channel and sample: whole samples are added up position by position, in fixed
// pieces of samples.
template <class T, class S>
Sums narrow_sums(const T* g, const T* x, const Extent& e, const S* mean) {
  const int64_t size = e.c * e.s, piece = std::max<int64_t>(64, (e.n + 31) / 32),
                pieces = (e.n + piece - 1) / piece;
  std::vector<S> partial(static_cast<size_t>(2 * size * pieces));
  std::vector<S> centre(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) centre[i] = mean[i / e.s];
  parallel_for(pieces, std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, size * piece)),
               [&](int64_t first, int64_t last) {
                 const LaneTag<T> d;
                 const size_t lanes = hn::Lanes(d);
                 for (int64_t p = first; p < last; ++p) {
                   S* const sum = partial.data() + 2 * size * p;
                   S* const dot = sum + size;
                   for (int64_t n = p * piece; n < std::min(e.n, (p + 1) * piece); ++n) {
                     const T* const gn = g + n * size;
                     const T* const xn = x + n * size;
                     size_t i = 0;
                     for (; i + lanes <= static_cast<size_t>(size); i += lanes) {
                       const auto gv = load(d, gn + i),
                                  xv = hn::Sub(load(d, xn + i), hn::LoadU(d, centre.data() + i));
                       hn::StoreU(hn::Add(hn::LoadU(d, sum + i), gv), d, sum + i);
                       hn::StoreU(hn::MulAdd(gv, xv, hn::LoadU(d, dot + i)), d, dot + i);
                     }
                     for (; i < static_cast<size_t>(size); ++i) {
                       sum[i] += static_cast<S>(gn[i]);
                       dot[i] += static_cast<S>(gn[i]) * (static_cast<S>(xn[i]) - centre[i]);
                     }
                   }
                 }
               });
  Sums sums{std::vector<double>(static_cast<size_t>(e.c)),
            std::vector<double>(static_cast<size_t>(e.c))};
  for (int64_t p = 0; p < pieces; ++p) {
    for (int64_t i = 0; i < size; ++i) {
      sums.sum[i / e.s] += partial[2 * size * p + i];
      sums.dot[i / e.s] += partial[2 * size * p + size + i];
    }
  }
  return sums;
}

// gx = weight·rstd·(g - mean(g) - (x - mean)·rstd²·mean(g·(x - mean))), the means only when training
template <class T>
void backward(const tn_call& call) {
  using arg = tenon::arg::batch_norm_backward;
  using S = Compute<T>;
  const Extent e = extent_of(input(call, arg::x));
  const T* const g = data_of<const T>(input(call, arg::g));
  const T* const x = data_of<const T>(input(call, arg::x));
  const S* const mean = data_of<const S>(input(call, arg::mean));
  const S* const rstd = data_of<const S>(input(call, arg::rstd));
  const std::vector<S> weight = channel_values<S>(call, arg::weight, e.c, 1);
  const Sums sums = e.s < 16 ? narrow_sums<T, S>(g, x, e, mean) : wide_sums<T, S>(g, x, e, mean);
  const double over = call.args[arg::training].as.i != 0 ? 1.0 / static_cast<double>(e.n * e.s) : 0;
  std::vector<S> a(weight.size()), b(weight.size()), k(weight.size());
  for (size_t c = 0; c < weight.size(); ++c) {
    a[c] = static_cast<S>(sums.sum[c] * over);
    b[c] = static_cast<S>(sums.dot[c] * over * rstd[c] * rstd[c]);
    k[c] = weight[c] * rstd[c];
    data_of<S>(output(call, arg::result::gweight))[c] = static_cast<S>(sums.dot[c] * rstd[c]);
    data_of<S>(output(call, arg::result::gbias))[c] = static_cast<S>(sums.sum[c]);
  }
  T* const gx = data_of<T>(output(call));
  parallel_for(
      e.n * e.c, std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, e.s)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t c = i % e.c;
          if (e.s == 1) {
            gx[i] = (static_cast<S>(g[i]) - a[c] - (static_cast<S>(x[i]) - mean[c]) * b[c]) * k[c];
          } else {
            apply_channel_backward<T, S>(g + i * e.s, x + i * e.s, gx + i * e.s, e.s, mean[c], a[c],
                                         b[c], k[c]);
          }
        }
      });
}

void add_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    list.add({.schema = TN_SCHEMA_BATCH_NORM_BACKWARD,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<backward<T>>});
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_norm_batch_backward_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
