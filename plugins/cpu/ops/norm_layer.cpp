// layer_norm and rms_norm: a row is read from memory once; its statistics are taken and applied
// while it lies in the cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm_layer.cpp"
#include <hwy/foreach_target.h>

#include <cmath>
#include <vector>

#include "../../common/norm_call.hpp"
#include "float_kernels.hpp"
#include "moments-inl.hpp"
#include "ops/norm_parameter.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE double mean_square(const T* x, int64_t n) {
  const LaneTag<T> d;
  double sum = 0;
  for (int64_t i = 0; i < n; i += kChunk) {
    const size_t m = static_cast<size_t>(std::min(kChunk, n - i));
    const auto step = [](auto acc, auto v) HWY_ATTR { return hn::MulAdd(v, v, acc); };
    const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
    sum += hn::GetLane(hn::SumOfLanes(d, fold(d, x + i, m, hn::Zero(d), 0, step, add)));
  }
  return n > 0 ? sum / static_cast<double>(n) : 0;
}

// y = (x - mean)·rstd·weight + bias
template <class T, class S>
HWY_INLINE void apply_row(const T* x, T* y, size_t n, S mean, S rstd, const S* weight,
                          const S* bias) {
  const LaneTag<T> d;
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);
  const auto f = [&](auto v, auto w, auto b)
                     HWY_ATTR { return hn::MulAdd(hn::Mul(hn::Sub(v, m), r), w, b); };
  for_lanes(
      d, n,
      [&](size_t i) HWY_ATTR {
        store(f(load(d, x + i), hn::LoadU(d, weight + i), hn::LoadU(d, bias + i)), d, y + i);
      },
      [&](size_t i, size_t k) HWY_ATTR {
        store_first(f(load_first(d, x + i, k, 0), load_first(d, weight + i, k, 0),
                      load_first(d, bias + i, k, 0)),
                    d, y + i, k);
      });
}

template <bool Rms, class T>
void norm_rows(const tn_call& call) {
  using S = Compute<T>;
  const RowNorm norm(call, Rms ? RowNorm::kRootMean : RowNorm::kLayer);
  const int64_t n = norm.n, rows = norm.rows;
  const double eps = norm.eps;
  std::vector<S> ones, zeros;
  const S* const weight = norm_parameter<T, S>(norm.weight, n, 1, ones);
  const S* const bias = norm_parameter<T, S>(norm.bias, n, 0, zeros);
  const T* const x = data_of<const T>(*norm.x);
  T* const y = data_of<T>(output(call));
  S* const means = Rms ? nullptr : data_of<S>(*norm.mean);
  S* const rstds = data_of<S>(*norm.rstd);
  parallel_for(rows, std::max<int64_t>(1, kGrainMath / std::max<int64_t>(n, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   double mean = 0, square = 0;
                   if constexpr (Rms) {
                     square = mean_square(x + r * n, n);
                   } else {
                     const Moments moments = moments_of(x + r * n, n);
                     mean = moments.mean;
                     square = n > 0 ? moments.m2 / moments.n : 0;
                     means[r] = static_cast<S>(mean);
                   }
                   rstds[r] = static_cast<S>(1 / std::sqrt(square + eps));
                   apply_row<T, S>(x + r * n, y + r * n, static_cast<size_t>(n),
                                   static_cast<S>(mean), rstds[r], weight, bias);
                 }
               });
}

void add_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    list.add({.schema = TN_SCHEMA_LAYER_NORM,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<norm_rows<false, T>>});
    list.add({.schema = TN_SCHEMA_RMS_NORM,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<norm_rows<true, T>>});
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_norm_layer_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
