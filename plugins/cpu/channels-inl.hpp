// What batch_norm and group_norm share: x seen as (N, C, S), one scale and shift a channel.
#include <vector>

#include "moments-inl.hpp"

#if defined(TENON_CPU_CHANNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_CHANNELS_INL
#undef TENON_CPU_CHANNELS_INL
#else
#define TENON_CPU_CHANNELS_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

struct Extent {
  int64_t n, c, s;
};
inline Extent extent_of(const tn_view& x) {
  Extent e{x.shape[0], x.shape[1], 1};
  for (uint32_t d = 2; d < x.ndim; ++d) e.s *= x.shape[d];
  return e;
}
// A parameter of argument `arg`, or `otherwise` for every channel.
template <class S>
std::vector<S> channel_values(const tn_call& call, uint32_t arg, int64_t c, S otherwise) {
  const tn_view* view = input_or_null(call, arg);
  if (view == nullptr) return std::vector<S>(static_cast<size_t>(c), otherwise);
  return std::vector<S>(data_of<const S>(*view), data_of<const S>(*view) + c);
}

// y = (x - mean)·scale + shift over one channel of one sample.
template <class T, class S>
HWY_INLINE void apply_channel(const T* x, T* y, int64_t n, S mean, S scale, S shift) {
  const LaneTag<T> d;
  const auto m = hn::Set(d, mean), k = hn::Set(d, scale), b = hn::Set(d, shift);
  map_row(x, y, static_cast<size_t>(n),
          [=](auto v) HWY_ATTR { return hn::MulAdd(hn::Sub(v, m), k, b); });
}

// gx = (g - a - (x - mean)·b)·k over one channel of one sample.
template <class T, class S>
HWY_INLINE void apply_channel_backward(const T* g, const T* x, T* gx, int64_t n, S mean, S a, S b,
                                       S k) {
  const LaneTag<T> d;
  const auto mv = hn::Set(d, mean), av = hn::Set(d, a), bv = hn::Set(d, b), kv = hn::Set(d, k);
  map_rows(g, x, gx, static_cast<size_t>(n), [=](auto gv, auto xv) HWY_ATTR {
    return hn::Mul(hn::NegMulAdd(hn::Sub(xv, mv), bv, hn::Sub(gv, av)), kv);
  });
}

// Σ g and Σ g·(x - mean) over one channel of one sample, added to the totals.
template <class T, class S>
HWY_INLINE void add_channel_sums(const T* g, const T* x, int64_t n, S mean, double& sum,
                                 double& dot) {
  const LaneTag<T> d;
  const auto m = hn::Set(d, mean);
  for (int64_t i = 0; i < n; i += kChunk) {
    const size_t k = static_cast<size_t>(std::min(kChunk, n - i));
    sum += sum_of(d, g + i, k);
    dot += sum_pairs(d, g + i, x + i, k,
                     [m](auto gv, auto xv) HWY_ATTR { return hn::Mul(gv, hn::Sub(xv, m)); });
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
