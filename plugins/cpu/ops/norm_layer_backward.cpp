// layer_norm_backward and rms_norm_backward. With ĝ = g·weight and x̂ = (x - mean)·rstd:
//   gx = rstd·(ĝ - mean(ĝ) - x̂·mean(ĝ·x̂)),  gweight = Σ g·x̂,  gbias = Σ g  (rms: without the means
//   of ĝ and x).
// Parameter gradients are summed over fixed pieces of rows, which are merged in order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm_layer_backward.cpp"
#include <hwy/foreach_target.h>

#include <vector>

#include "../../common/norm_call.hpp"
#include "float_kernels.hpp"
#include "kernels.hpp"
#include "lanes-inl.hpp"
#include "ops/norm_parameter.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// R rows at once, so that sums have independent chains and parameter gradients are touched once:
// gx, and the rows' share of gweight and gbias.
template <bool Rms, int R, class T, class S>
HWY_INLINE void backward_rows(const T* g, const T* x, T* gx, int64_t n, const S* means,
                              const S* rstds, const S* weight, S* gweight, S* gbias) {
  const LaneTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V mean[R], rstd[R], sum[R], dot[R];
  for (int k = 0; k < R; ++k) {
    mean[k] = hn::Set(d, Rms ? S{0} : means[k]);
    rstd[k] = hn::Set(d, rstds[k]);
    sum[k] = dot[k] = hn::Zero(d);
  }
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V w = hn::LoadU(d, weight + i);
    V gw = hn::LoadU(d, gweight + i), gb = hn::LoadU(d, gbias + i);
    for (int k = 0; k < R; ++k) {
      const V gv = load(d, g + k * n + i),
              hat = hn::Mul(hn::Sub(load(d, x + k * n + i), mean[k]), rstd[k]);
      const V gh = hn::Mul(gv, w);
      sum[k] = hn::Add(sum[k], gh);
      dot[k] = hn::MulAdd(gh, hat, dot[k]);
      gw = hn::MulAdd(gv, hat, gw);
      gb = hn::Add(gb, gv);
    }
    hn::StoreU(gw, d, gweight + i);
    hn::StoreU(gb, d, gbias + i);
  }
  S a[R], b[R];
  const S over = 1 / static_cast<S>(n);
  for (int k = 0; k < R; ++k) {
    S s = hn::GetLane(hn::SumOfLanes(d, sum[k])), t = hn::GetLane(hn::SumOfLanes(d, dot[k]));
    for (int64_t j = i; j < n; ++j) {
      const S gv = g[k * n + j],
              hat = (static_cast<S>(x[k * n + j]) - (Rms ? S{0} : means[k])) * rstds[k];
      s += gv * weight[j];
      t += gv * weight[j] * hat;
      gweight[j] += gv * hat;
      gbias[j] += gv;
    }
    a[k] = Rms ? S{0} : s * over;
    b[k] = t * over;
  }
  for (int k = 0; k < R; ++k) {
    const V av = hn::Set(d, a[k]), bv = hn::Set(d, b[k]);
    for (int64_t j = 0; j < i; j += lanes) {
      const V hat = hn::Mul(hn::Sub(load(d, x + k * n + j), mean[k]), rstd[k]);
      const V gh = hn::Mul(load(d, g + k * n + j), hn::LoadU(d, weight + j));
      store(hn::Mul(rstd[k], hn::NegMulAdd(hat, bv, hn::Sub(gh, av))), d, gx + k * n + j);
    }
    for (int64_t j = i; j < n; ++j) {
      const S hat = (static_cast<S>(x[k * n + j]) - (Rms ? S{0} : means[k])) * rstds[k];
      gx[k * n + j] = rstds[k] * (static_cast<S>(g[k * n + j]) * weight[j] - a[k] - hat * b[k]);
    }
  }
}

template <bool Rms, class T>
void backward(const tn_call& call) {
  using S = Compute<T>;
  using arg = tenon::arg::layer_norm_backward;
  static_assert(arg::result::gweight == tenon::arg::rms_norm_backward::result::gweight);
  const RowNorm norm(call, Rms ? RowNorm::kRootMeanBackward : RowNorm::kLayerBackward);
  const int64_t n = norm.n, rows = norm.rows;
  const T* const g = data_of<const T>(*norm.g);
  const T* const x = data_of<const T>(*norm.x);
  const S* const mean = Rms ? nullptr : data_of<const S>(*norm.mean);
  const S* const rstd = data_of<const S>(*norm.rstd);
  T* const gx = data_of<T>(output(call));
  std::vector<S> ones;
  const S* const weight = norm_parameter<T, S>(norm.weight, n, 1, ones);

  const int64_t piece = std::max<int64_t>(64, (rows + 31) / 32);
  const int64_t pieces = (rows + piece - 1) / piece;
  std::vector<S> partial(static_cast<size_t>(2 * n * pieces));
  const int64_t grain = std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, n * piece));
  parallel_for(pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      S* const mine = partial.data() + 2 * n * p;
      const int64_t last = std::min(rows, (p + 1) * piece);
      int64_t r = p * piece;
      const S* const m = Rms ? rstd : mean;
      for (; r + 4 <= last; r += 4)
        backward_rows<Rms, 4, T, S>(g + r * n, x + r * n, gx + r * n, n, m + r, rstd + r, weight,
                                    mine, mine + n);
      for (; r < last; ++r)
        backward_rows<Rms, 1, T, S>(g + r * n, x + r * n, gx + r * n, n, m + r, rstd + r, weight,
                                    mine, mine + n);
    }
  });
  const auto merge = [&](const tn_view& out, int64_t which) {
    const bool half = out.dtype != kDtype<S>;
    T* const narrow = half ? data_of<T>(out) : nullptr;
    S* const whole = half ? nullptr : data_of<S>(out);
    parallel_for(n, kGrainMath / std::max<int64_t>(1, pieces), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double sum = 0;
        for (int64_t p = 0; p < pieces; ++p)
          sum += partial[static_cast<size_t>(n * (2 * p + which) + i)];
        half ? void(narrow[i] = static_cast<S>(sum)) : void(whole[i] = static_cast<S>(sum));
      }
    });
  };
  merge(output(call, arg::result::gweight), 0);
  if constexpr (!Rms) merge(output(call, arg::result::gbias), 1);
}

// The dtype of the first tensor is that of g, which is x's.
void add_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    list.add({.schema = TN_SCHEMA_LAYER_NORM_BACKWARD,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<backward<false, T>>});
    list.add({.schema = TN_SCHEMA_RMS_NORM_BACKWARD,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<backward<true, T>>});
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_norm_layer_backward_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
