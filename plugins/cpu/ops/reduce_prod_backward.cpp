// prod_backward. A row whose product is no extreme number is divided by its elements; another is multiplied from both ends.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce_prod_backward.cpp"
#include <hwy/foreach_target.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "kernels.hpp"
#include "lanes-inl.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

using arg = tenon::arg::prod_backward;

template <class T>
using Wide = std::conditional_t<is_complex_v<T>, std::complex<double>, double>;
template <class T>
Wide<T> conjugate(T x) {
  if constexpr (is_complex_v<T>) {
    return std::conj(Wide<T>(x));
  } else {
    return static_cast<Wide<T>>(static_cast<Compute<T>>(x));
  }
}

// before: room for n products of the elements before each one
template <class T>
void from_both_ends(Wide<T> g, const T* x, int64_t n, Wide<T>* before, T* dx) {
  Wide<T> left = 1, right = g;
  for (int64_t i = 0; i < n; left *= conjugate(x[i++])) before[i] = left;
  for (int64_t i = n; i-- > 0; right *= conjugate(x[i]))
    dx[i] = static_cast<T>(static_cast<Compute<T>>(before[i] * right));
}

// Writes g·Πx/x and says true, unless a zero, a NaN or a number near the limits of T is among what it computes with.
template <class T>
bool by_division(T g, const T* x, int64_t n, T* dx) {
  const hn::ScalableTag<double> wide;
  const auto mul = [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); };
  HWY_ALIGN double lanes[hn::MaxLanes(wide)];
  hn::Store(fold(wide, x, static_cast<size_t>(n), hn::Set(wide, 1.0), 1.0, mul, mul), wide, lanes);
  for (size_t i = 1; i < hn::Lanes(wide); ++i) lanes[0] *= lanes[i];
  const auto usual = [](auto v, auto t) {
    using L = std::numeric_limits<decltype(t)>;
    return std::abs(v) >= L::min() / L::epsilon() && std::abs(v) <= L::max();
  };
  const double share = lanes[0] * static_cast<double>(g);
  if (!usual(lanes[0], double()) || !usual(share, T())) return false;
  const LaneTag<T> d;
  const auto all = hn::Set(d, static_cast<T>(share));
  map_row(x, dx, static_cast<size_t>(n), [&](auto v) HWY_ATTR { return hn::Div(all, v); });
  return true;
}

void prod_backward(const tn_call& call) {
  const tn_view& view = input(call, arg::x);
  const int64_t n = view.shape[view.ndim - 1];
  if (n == 0) return;
  visit_dtype<TN_MASK_FLOAT | TN_MASK_COMPLEX>(view.dtype, [&]<class T>(Tag<T>) {
    const T *const g = data_of<const T>(input(call, arg::g)), *const x = data_of<const T>(view);
    T* const dx = data_of<T>(output(call));
    parallel_for(numel(view) / n, std::max<int64_t>(1, kGrainMath / n),
                 [=](int64_t begin, int64_t end) {
                   std::vector<Wide<T>> before;
                   for (int64_t r = begin; r < end; ++r) {
                     if constexpr (std::is_floating_point_v<T>) {
                       if (by_division(g[r], x + r * n, n, dx + r * n)) continue;
                     }
                     before.resize(static_cast<size_t>(n));
                     from_both_ends(Wide<T>(static_cast<Compute<T>>(g[r])), x + r * n, n,
                                    before.data(), dx + r * n);
                   }
                 });
  });
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_PROD_BACKWARD,
            .dtypes = TN_MASK_FLOAT | TN_MASK_COMPLEX,
            .run = run_of<prod_backward>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_reduce_prod_backward_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
