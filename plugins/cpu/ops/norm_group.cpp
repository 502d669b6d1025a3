// group_norm and its backward.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm_group.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "channels-inl.hpp"
#include "float_kernels.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void group_norm(const tn_call& call) {
  using arg = tenon::arg::group_norm;
  using S = Compute<T>;
  const Extent e = extent_of(input(call, arg::x));
  const int64_t groups = call.args[arg::groups].as.i, width = e.c / groups, size = width * e.s;
  const std::vector<S> weight = channel_values<S>(call, arg::weight, e.c, 1),
                       bias = channel_values<S>(call, arg::bias, e.c, 0);
  const double eps = real_arg(call, arg::eps);
  const T* const x = data_of<const T>(input(call, arg::x));
  T* const y = data_of<T>(output(call));
  S* const means = data_of<S>(output(call, arg::result::mean));
  S* const rstds = data_of<S>(output(call, arg::result::rstd));
  parallel_for(e.n * groups, std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, size)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const Moments moments = moments_of(x + i * size, size);
                   means[i] = static_cast<S>(moments.mean);
                   rstds[i] =
                       static_cast<S>(1 / std::sqrt((size > 0 ? moments.m2 / moments.n : 0) + eps));
                   for (int64_t k = 0; k < width; ++k) {
                     const size_t c = static_cast<size_t>(i % groups * width + k);
                     apply_channel<T, S>(x + i * size + k * e.s, y + i * size + k * e.s, e.s,
                                         means[i], rstds[i] * weight[c], bias[c]);
                   }
                 }
               });
}

// With ĝ = g·weight:
//   gx = rstd·(ĝ - mean(ĝ) - (x - mean)·rstd²·mean(ĝ·(x - mean))) over each group
template <class T>
void group_norm_backward(const tn_call& call) {
  using arg = tenon::arg::group_norm_backward;
  using S = Compute<T>;
  const Extent e = extent_of(input(call, arg::x));
  const int64_t groups = call.args[arg::groups].as.i, width = e.c / groups, size = width * e.s;
  const std::vector<S> weight = channel_values<S>(call, arg::weight, e.c, 1);
  const T* const g = data_of<const T>(input(call, arg::g));
  const T* const x = data_of<const T>(input(call, arg::x));
  const S* const mean = data_of<const S>(input(call, arg::mean));
  const S* const rstd = data_of<const S>(input(call, arg::rstd));
  T* const gx = data_of<T>(output(call));
  std::vector<double> sums(static_cast<size_t>(e.n * e.c)), dots(sums.size());
  parallel_for(e.n * groups, std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, size)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   double sum = 0, dot = 0;
                   for (int64_t k = 0; k < width; ++k) {
                     const size_t at = static_cast<size_t>(i * width + k),
                                  c = static_cast<size_t>(i % groups * width + k);
                     add_channel_sums<T, S>(g + i * size + k * e.s, x + i * size + k * e.s, e.s,
                                            mean[i], sums[at], dots[at]);
                     sum += sums[at] * weight[c];
                     dot += dots[at] * weight[c];
                   }
                   const double r = rstd[i], over = 1.0 / static_cast<double>(size);
                   for (int64_t k = 0; k < width; ++k) {
                     const double w = weight[static_cast<size_t>(i % groups * width + k)];
                     const int64_t at = i * size + k * e.s;
                     if (w != 0) {
                       apply_channel_backward<T, S>(
                           g + at, x + at, gx + at, e.s, mean[i], static_cast<S>(sum * over / w),
                           static_cast<S>(dot * r * r * over / w), static_cast<S>(r * w));
                     } else {  // g has no share: gx = -(x - mean)·b - a
                       apply_channel<T, S>(x + at, gx + at, e.s, mean[i],
                                           static_cast<S>(-dot * r * r * r * over),
                                           static_cast<S>(-sum * over * r));
                     }
                   }
                 }
               });
  S* const gweight = data_of<S>(output(call, arg::result::gweight));
  S* const gbias = data_of<S>(output(call, arg::result::gbias));
  for (int64_t c = 0; c < e.c; ++c) {
    double sum = 0, dot = 0;
    for (int64_t n = 0; n < e.n; ++n) {
      sum += sums[static_cast<size_t>(n * e.c + c)];
      dot += dots[static_cast<size_t>(n * e.c + c)] * rstd[n * groups + c / width];
    }
    gweight[c] = static_cast<S>(dot);
    gbias[c] = static_cast<S>(sum);
  }
}

void add_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    list.add({.schema = TN_SCHEMA_GROUP_NORM,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<group_norm<T>>});
    list.add({.schema = TN_SCHEMA_GROUP_NORM_BACKWARD,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<group_norm_backward<T>>});
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_norm_group_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
