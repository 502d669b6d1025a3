// layer_norm_backward and rms_norm_backward. With ĝ = g·weight and x̂ = (x - mean)·rstd:
//   gx = rstd·(ĝ - mean(ĝ) - x̂·mean(ĝ·x̂)),  gweight = Σ g·x̂,  gbias = Σ g  (rms: without the means
//   of ĝ and x).
// Parameter gradients are summed over fixed pieces of rows, which are merged in order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/layer_norm_backward.cpp"
#include <hwy/foreach_target.h>

#include <vector>

#include "kernels.hpp"
#include "lanes-inl.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// One row: gx, and its share of gweight and gbias.
template <bool Rms, class T, class S>
HWY_INLINE void backward_row(const T* g, const T* x, T* gx, size_t n, S mean, S rstd,
                             const S* weight, S* gweight, S* gbias) {
  const LaneTag<T> d;
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);
  auto sum = hn::Zero(d), dot = sum;
  const auto add = [&](auto gv, auto xv, auto w, auto gw, auto gb, auto&& put) HWY_ATTR {
    const auto hat = hn::Mul(hn::Sub(xv, m), r), gh = hn::Mul(gv, w);
    sum = hn::Add(sum, gh);
    dot = hn::MulAdd(gh, hat, dot);
    put(hn::MulAdd(gv, hat, gw), hn::Add(gv, gb));
  };
  for_lanes(
      d, n,
      [&](size_t i) HWY_ATTR {
        add(load(d, g + i), load(d, x + i), hn::LoadU(d, weight + i), hn::LoadU(d, gweight + i),
            hn::LoadU(d, gbias + i), [&](auto gw, auto gb) HWY_ATTR {
              hn::StoreU(gw, d, gweight + i);
              hn::StoreU(gb, d, gbias + i);
            });
      },
      [&](size_t i, size_t k) HWY_ATTR {
        add(load_first(d, g + i, k, 0), load_first(d, x + i, k, mean),
            load_first(d, weight + i, k, 0), load_first(d, gweight + i, k, 0),
            load_first(d, gbias + i, k, 0), [&](auto gw, auto gb) HWY_ATTR {
              store_first(gw, d, gweight + i, k);
              store_first(gb, d, gbias + i, k);
            });
      });
  const S over = 1 / static_cast<S>(n);
  const auto a = hn::Set(d, Rms ? S{0} : hn::GetLane(hn::SumOfLanes(d, sum)) * over);
  const auto b = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, dot)) * over);
  const auto f = [&](auto gv, auto xv, auto w) HWY_ATTR {
    const auto hat = hn::Mul(hn::Sub(xv, m), r);
    return hn::Mul(r, hn::NegMulAdd(hat, b, hn::Sub(hn::Mul(gv, w), a)));
  };
  for_lanes(
      d, n,
      [&](size_t i) HWY_ATTR {
        store(f(load(d, g + i), load(d, x + i), hn::LoadU(d, weight + i)), d, gx + i);
      },
      [&](size_t i, size_t k) HWY_ATTR {
        store_first(f(load_first(d, g + i, k, 0), load_first(d, x + i, k, 0),
                      load_first(d, weight + i, k, 0)),
                    d, gx + i, k);
      });
}

// args: g, x, mean (layer_norm), rstd, weight, shape
template <bool Rms, class T>
void backward(const tn_call& call) {
  using S = Compute<T>;
  const int64_t n = numel(output(call, 1));
  const int64_t rows = numel(input(call, 2));
  const T* const g = data_of<const T>(input(call, 0));
  const T* const x = data_of<const T>(input(call, 1));
  const S* const mean = Rms ? nullptr : data_of<const S>(input(call, 2));
  const S* const rstd = data_of<const S>(input(call, Rms ? 2 : 3));
  T* const gx = data_of<T>(output(call));
  std::vector<S> ones;
  const tn_view* given = input_or_null(call, Rms ? 3 : 4);
  if (given == nullptr) ones.assign(static_cast<size_t>(n), 1);
  const S* const weight = given != nullptr ? data_of<const S>(*given) : ones.data();

  const int64_t piece = std::max<int64_t>(64, (rows + 31) / 32);
  const int64_t pieces = (rows + piece - 1) / piece;
  std::vector<S> partial(static_cast<size_t>(2 * n * pieces));
  const int64_t grain = std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, n * piece));
  parallel_for(pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      S* const mine = partial.data() + 2 * n * p;
      for (int64_t r = p * piece; r < std::min(rows, (p + 1) * piece); ++r)
        backward_row<Rms, T, S>(g + r * n, x + r * n, gx + r * n, static_cast<size_t>(n),
                                Rms ? S{0} : mean[r], rstd[r], weight, mine, mine + n);
    }
  });
  const auto merge = [&](S* out, int64_t which) {
    parallel_for(n, kGrainMath / std::max<int64_t>(1, pieces), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double sum = 0;
        for (int64_t p = 0; p < pieces; ++p)
          sum += partial[static_cast<size_t>(n * (2 * p + which) + i)];
        out[i] = static_cast<S>(sum);
      }
    });
  };
  merge(data_of<S>(output(call, 1)), 0);
  if constexpr (!Rms) merge(data_of<S>(output(call, 2)), 1);
}

// The dtype of the first tensor is that of g, which is x's.
template <class T>
void add_of(KernelList& list) {
  list.add({.schema = TN_SCHEMA_LAYER_NORM_BACKWARD,
            .dtypes = TN_MASK(kDtype<T>),
            .run = run_of<backward<false, T>>});
  list.add({.schema = TN_SCHEMA_RMS_NORM_BACKWARD,
            .dtypes = TN_MASK(kDtype<T>),
            .run = run_of<backward<true, T>>});
}
void add_kernels(KernelList& list) {
  add_of<float>(list);
  add_of<double>(list);
  add_of<F16>(list);
  add_of<BF16>(list);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_layer_norm_backward_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
