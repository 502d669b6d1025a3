// What kernels of linear for a few rows share. Included once for each instruction set, inside no namespace.
#include "ops/quantize-inl.hpp"

#if defined(TENON_CPU_QUANTIZE_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_QUANTIZE_SUMS_INL
#undef TENON_CPU_QUANTIZE_SUMS_INL
#else
#define TENON_CPU_QUANTIZE_SUMS_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

constexpr int64_t kMostRows = 16;  // more are worth unpacking the weight for
constexpr int64_t kAhead = 8192;   // bytes of the weight that are on their way

// Rows of x as a kernel wants them, the sums of their groups, and the sums of products.
struct Rows {
  int64_t m;
  float *x, *groups, *sums;
};

#if HWY_TARGET != HWY_SCALAR
// The blocks of 128 bits of a vector added up.
template <class V>
HWY_INLINE auto sum_of_blocks(V v) {
  using D = hn::DFromV<V>;
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of the lanes of four vectors, in four lanes.
template <class D, class V>
HWY_INLINE auto sums_of_four(D d, const V (&v)[4]) {
  const hn::RepartitionToWide<D> pairs;
  const auto two = [&](V a, V b) HWY_ATTR {
    return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto ab = two(v[0], v[1]), cd = two(v[2], v[3]);
  return sum_of_blocks(hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, cd)),
                               hn::BitCast(d, hn::InterleaveUpper(pairs, ab, cd))));
}
#endif

// Sums of C vectors into C numbers.
template <int C>
HWY_INLINE void store_sums(const QV (&sum)[C], float* out) {
  const QD d;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (C == 4) return hn::StoreU(sums_of_four(d, sum), hn::FixedTag<float, 4>(), out);
#endif
  for (int j = 0; j < C; ++j) out[j] = hn::GetLane(hn::SumOfLanes(d, sum[j]));
}

// The sums and a bias, if there is one, in the result.
template <class T>
void finish(const Rows& r, int64_t outputs, const tn_view* bias, const tn_view& result) {
  const auto n = static_cast<size_t>(outputs);
  T* out = data_of<T>(result);
  for (int64_t i = 0; i < r.m; ++i, out += outputs) {
    float* const sums = r.sums + i * outputs;
    if (bias != nullptr)
      map_rows(sums, data_of<const T>(*bias), sums, n,
               [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    map_row(sums, out, n, [](auto v) HWY_ATTR { return v; });
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
