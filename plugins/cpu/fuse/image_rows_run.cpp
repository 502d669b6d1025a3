// Loops over rows of channels.
#include "fuse/image_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fuse/image_rows_run.cpp"
#include <hwy/foreach_target.h>

#include "lanes-inl.hpp"
#include "simd/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

template <class Activation>
void affine_rows(const float* x, float* y, int64_t rows, int64_t n, const float* const* parameters,
                 Activation activation) {
  const D d;
  const float *const mean = parameters[0], *const scale = parameters[1],
                     *const shift = parameters[2];
  for (int64_t r = 0; r < rows; ++r, x += n, y += n)
    for_lanes(
        d, static_cast<size_t>(n),
        [&](size_t i) HWY_ATTR {
          const V centred = hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, mean + i));
          const V v = hn::MulAdd(centred, hn::LoadU(d, scale + i), hn::LoadU(d, shift + i));
          hn::StoreU(activation(v), d, y + i);
        },
        [&](size_t i, size_t k) HWY_ATTR {
          const V centred = hn::Sub(load_first(d, x + i, k, 0), load_first(d, mean + i, k, 0));
          const V v =
              hn::MulAdd(centred, load_first(d, scale + i, k, 0), load_first(d, shift + i, k, 0));
          store_first(activation(v), d, y + i, k);
        });
}

void affine(const float* x, float* y, int64_t rows, int64_t n, const float* const* parameters,
            RowActivation activation) {
  const D d;
  switch (activation) {
    case RowActivation::kNone:
      return affine_rows(x, y, rows, n, parameters, [](V v) HWY_ATTR { return v; });
    case RowActivation::kRelu:
      return affine_rows(x, y, rows, n, parameters, [d](V v) HWY_ATTR {
        return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);
      });
    case RowActivation::kSilu:
      return affine_rows(x, y, rows, n, parameters, [d](V v) HWY_ATTR { return silu_f32(d, v); });
  }
}

// Count: how many are mixed, or 0 for any number.
template <int64_t Count>
void mix_rows(float* to, int64_t n, const float* const* from, const float* weight, int64_t count) {
  const D d;
  if constexpr (Count != 0) count = Count;
  for_lanes(
      d, static_cast<size_t>(n),
      [&](size_t i) HWY_ATTR {
        V sum = hn::Mul(hn::Set(d, weight[0]), hn::LoadU(d, from[0] + i));
        for (int64_t k = 1; k < count; ++k)
          sum = hn::MulAdd(hn::Set(d, weight[k]), hn::LoadU(d, from[k] + i), sum);
        hn::StoreU(sum, d, to + i);
      },
      [&](size_t i, size_t rest) HWY_ATTR {
        V sum = hn::Mul(hn::Set(d, weight[0]), load_first(d, from[0] + i, rest, 0));
        for (int64_t k = 1; k < count; ++k)
          sum = hn::MulAdd(hn::Set(d, weight[k]), load_first(d, from[k] + i, rest, 0), sum);
        store_first(sum, d, to + i, rest);
      });
}

void mix(float* to, int64_t n, const float* const* from, const float* weight, int64_t count) {
  if (count == 1) return mix_rows<1>(to, n, from, weight, count);
  if (count == 2) return mix_rows<2>(to, n, from, weight, count);
  mix_rows<0>(to, n, from, weight, count);
}

template <class Of>
void sum_rows(const float* x, int64_t rows, int64_t n, float* to, Of of) {
  const D d;
  for_lanes(
      d, static_cast<size_t>(n),
      [&](size_t i) HWY_ATTR {
        V even = hn::Zero(d), odd = even;
        int64_t r = 0;
        for (; r + 1 < rows; r += 2) {
          even = of(hn::LoadU(d, x + r * n + i), i, even);
          odd = of(hn::LoadU(d, x + (r + 1) * n + i), i, odd);
        }
        if (r < rows) even = of(hn::LoadU(d, x + r * n + i), i, even);
        hn::StoreU(hn::Add(even, odd), d, to + i);
      },
      [&](size_t i, size_t k) HWY_ATTR {
        V sum = hn::Zero(d);
        for (int64_t r = 0; r < rows; ++r) sum = of(load_first(d, x + r * n + i, k, 0), i, sum);
        store_first(sum, d, to + i, k);
      });
}

void sums(const float* x, int64_t rows, int64_t n, const float* mean, float* to) {
  if (mean == nullptr)
    return sum_rows(x, rows, n, to, [](V v, size_t, V sum) HWY_ATTR { return hn::Add(sum, v); });
  const D d;
  sum_rows(x, rows, n, to, [d, mean, n](V v, size_t i, V sum) HWY_ATTR {
    const auto left = static_cast<size_t>(n) - i;
    const V m = left < hn::Lanes(d) ? load_first(d, mean + i, left, 0) : hn::LoadU(d, mean + i);
    const V centred = hn::Sub(v, m);
    return hn::MulAdd(centred, centred, sum);
  });
}

RowFunctions functions() { return {affine, mix, sums}; }

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(functions);
const RowFunctions& row_functions() {
  static const RowFunctions best = HWY_DYNAMIC_DISPATCH(functions)();
  return best;
}
}  // namespace tenon::cpu
#endif
