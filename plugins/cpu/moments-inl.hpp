// Mean and sum of squared differences, in one pass over memory: each block is centred on its
// own mean while it lies in the cache, and blocks are merged in f64 (Chan). Shared by var
// and the normalisations.
#include "reduce-inl.hpp"

#if defined(TENON_CPU_MOMENTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_MOMENTS_INL
#undef TENON_CPU_MOMENTS_INL
#else
#define TENON_CPU_MOMENTS_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

struct Moments {
  double n, mean, m2;
};

template <class T>  // float or double
struct MomentsOf {
  using Elem = T;
  using State = Moments;
  static constexpr bool ordered = false;
  Moments start() const { return {0, 0, 0}; }
  void merge(Moments& into, const Moments& other) const {
    if (other.n == 0) return;
    const double n = into.n + other.n, delta = other.mean - into.mean;
    into.mean += delta * (other.n / n);
    into.m2 += other.m2 + delta * delta * (into.n * other.n / n);
    into.n = n;
  }
  // From sums of x - shift and its square.
  static Moments centred(double n, double shift, double s1, double s2) {
    return {n, shift + s1 / n, std::max(s2 - s1 * s1 / n, 0.0)};
  }
  // Whether a sum of squares has left the range of T, or holds what is not a number.
  static bool overflowed(double s2) { return sizeof(T) == 4 && !(s2 < 1e38); }
  // Slowly, in f64, whose range the squares of f32 do not leave.
  template <class T2>
  HWY_NOINLINE static Moments wide(const T2* x, int64_t step, int64_t n) {
    double sum = 0, s1 = 0, s2 = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(static_cast<T>(x[i * step]));
    const double shift = sum / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) {
      const double u = static_cast<double>(static_cast<T>(x[i * step])) - shift;
      s1 += u;
      s2 += u * u;
    }
    return centred(static_cast<double>(n), shift, s1, s2);
  }
  // Any T2 that loads into T.
  template <class T2>
  HWY_INLINE Moments of(const T2* x, int64_t count) const {
    const LaneTag<T> d;
    const size_t n = static_cast<size_t>(count), lanes = hn::Lanes(d);
    const T shift = sum_of(d, x, n) / static_cast<T>(n);
    const auto centre = hn::Set(d, shift);
    auto a1 = hn::Zero(d), a2 = a1, b1 = a1, b2 = a1, c1 = a1, c2 = a1, e1 = a1, e2 = a1;
    const auto add = [centre](auto v, auto& s1, auto& s2) HWY_ATTR {
      const auto u = hn::Sub(v, centre);
      s1 = hn::Add(s1, u);
      s2 = hn::MulAdd(u, u, s2);
    };
    size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      add(load(d, x + i), a1, a2);
      add(load(d, x + i + lanes), b1, b2);
      add(load(d, x + i + 2 * lanes), c1, c2);
      add(load(d, x + i + 3 * lanes), e1, e2);
    }
    for (; i < n; i += lanes)
      add(n - i < lanes ? load_first(d, x + i, n - i, shift) : load(d, x + i), a1, a2);
    a1 = hn::Add(hn::Add(a1, b1), hn::Add(c1, e1));
    a2 = hn::Add(hn::Add(a2, b2), hn::Add(c2, e2));
    const double s1 = hn::GetLane(hn::SumOfLanes(d, a1));
    const double s2 = hn::GetLane(hn::SumOfLanes(d, a2));
    if (overflowed(s2)) [[unlikely]]
      return wide(x, 1, count);
    return centred(static_cast<double>(n), shift, s1, s2);
  }
  Moments run(const T* x, int64_t n, int64_t) const { return of(x, n); }

  void columns(const T* x, int64_t step, int64_t rows, int64_t cols, int64_t, Moments* s) const {
    const LaneTag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    HWY_ALIGN T shift[hn::MaxLanes(d)], s1[hn::MaxLanes(d)], s2[hn::MaxLanes(d)];
    for (int64_t c = 0; c < cols; c += lanes) {
      const int64_t n = std::min(lanes, cols - c);
      const auto at = [&](int64_t r) HWY_ATTR {
        const T* row = x + r * step + c;
        return n == lanes ? hn::LoadU(d, row) : load_first(d, row, static_cast<size_t>(n), 0);
      };
      auto sum = hn::Zero(d);
      for (int64_t r = 0; r < rows; ++r) sum = hn::Add(sum, at(r));
      const auto centre = hn::Mul(sum, hn::Set(d, 1 / static_cast<T>(rows)));
      auto a1 = hn::Zero(d), a2 = a1;
      for (int64_t r = 0; r < rows; ++r) {
        const auto u = hn::Sub(at(r), centre);
        a1 = hn::Add(a1, u);
        a2 = hn::MulAdd(u, u, a2);
      }
      hn::Store(centre, d, shift);
      hn::Store(a1, d, s1);
      hn::Store(a2, d, s2);
      for (int64_t i = 0; i < n; ++i)
        merge(s[c + i], overflowed(s2[i])
                            ? wide(x + c + i, step, rows)
                            : centred(static_cast<double>(rows), shift[i], s1[i], s2[i]));
    }
  }
};

// Of a contiguous row of any length.
template <class T>
HWY_INLINE Moments moments_of(const T* x, int64_t n) {
  const MomentsOf<Compute<T>> r;
  if (n <= kChunk) return n > 0 ? r.of(x, n) : r.start();
  Moments all = r.start();
  for (int64_t i = 0; i < n; i += kChunk) r.merge(all, r.of(x + i, std::min(kChunk, n - i)));
  return all;
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
