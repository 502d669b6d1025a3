// sum, nansum, mean, prod, count_nonzero. f32 is summed in blocks of 4096, each in interleaved f32 partial sums, and
// blocks in f64: the error is at most 64 roundings of the sum of magnitudes with AVX-512, 128 with
// AVX2; without SIMD f64 is used all through. Products of f32 are taken in f64, integers wrap
// around in 64 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce_sum.cpp"
#include <hwy/foreach_target.h>

#include "reduce-inl.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct Sum {
  using Elem = T;
  using State = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  static constexpr bool ordered = false;
  State start() const { return 0; }
  void merge(State& into, State other) const { into += other; }
  HWY_INLINE State run(const T* x, int64_t n, int64_t) const {
    if constexpr (std::is_floating_point_v<T> && hn::MaxLanes(LaneTag<T>()) == 1) {
      return sum_of(hn::ScalableTag<double>(), x, static_cast<size_t>(n));
    } else if constexpr (std::is_floating_point_v<T>) {
      return sum_of(LaneTag<T>(), x, static_cast<size_t>(n));
    } else {
      State sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += static_cast<State>(x[i]);
      return sum;
    }
  }
  void columns(const T* x, int64_t step, int64_t rows, int64_t cols, int64_t, State* s) const {
    if constexpr (std::is_floating_point_v<T>) {
      const LaneTag<T> d;
      fold_columns(
          d, x, step, rows, cols, hn::Zero(d),
          [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); },
          into_states(d, s, [](State a, State b) { return a + b; }));
    } else {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) s[c] += static_cast<State>(x[r * step + c]);
      }
    }
  }
};

// Bytes, eight into one lane of 64 bits. Down a column they fit into 16 bits, since 64 rows come at a time.
template <>
struct Sum<uint8_t> {
  using Elem = uint8_t;
  using State = uint64_t;
  static constexpr bool ordered = false;
  State start() const { return 0; }
  void merge(State& into, State other) const { into += other; }
  HWY_INLINE State run(const uint8_t* x, int64_t n, int64_t) const {
    State sum = 0;
    int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<uint8_t> d;
    const hn::Repartition<uint64_t, decltype(d)> wide;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    auto a = hn::Zero(wide), b = a;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      a = hn::Add(a, hn::SumsOf8(hn::LoadU(d, x + i)));
      b = hn::Add(b, hn::SumsOf8(hn::LoadU(d, x + i + lanes)));
    }
    sum = hn::GetLane(hn::SumOfLanes(wide, hn::Add(a, b)));
#endif
    for (; i < n; ++i) sum += x[i];
    return sum;
  }
  void columns(const uint8_t* x, int64_t step, int64_t rows, int64_t cols, int64_t,
               State* s) const {
    static_assert(kColumnRows * 255 <= 65535);
    uint16_t folded[kColumns] = {};
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        folded[c] = static_cast<uint16_t>(folded[c] + x[r * step + c]);
    for (int64_t c = 0; c < cols; ++c) s[c] += folded[c];
  }
};

// Complex numbers as pairs of reals.
template <class T>
struct Sum<std::complex<T>> {
  using Elem = std::complex<T>;
  using State = std::complex<double>;
  static constexpr bool ordered = false;
  State start() const { return 0; }
  void merge(State& into, State other) const { into += other; }
  State run(const Elem* x, int64_t n, int64_t) const {
    const LaneTag<T> d;
    const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    const T* const reals = reinterpret_cast<const T*>(x);
    double sum[2] = {0, 0};
    if (hn::Lanes(d) == 1) {  // no lanes to tell the parts apart
      for (int64_t i = 0; i < n; ++i) sum[0] += x[i].real(), sum[1] += x[i].imag();
      return {sum[0], sum[1]};
    }
    hn::Store(fold(d, reals, static_cast<size_t>(2 * n), hn::Zero(d), 0, add, add), d, lanes);
    for (size_t i = 0; i < hn::Lanes(d); ++i) sum[i % 2] += lanes[i];
    return {sum[0], sum[1]};
  }
  void columns(const Elem* x, int64_t step, int64_t rows, int64_t cols, int64_t at,
               State* s) const {
    Sum<T>().columns(reinterpret_cast<const T*>(x), 2 * step, rows, 2 * cols, at,
                     reinterpret_cast<double*>(s));
  }
};

// The sum of what is not NaN.
template <class T>
struct NanSum : Sum<T> {
  using State = double;
  // f32 without SIMD is summed in f64, as by Sum.
  using D =
      std::conditional_t<hn::MaxLanes(LaneTag<T>()) == 1, hn::ScalableTag<double>, LaneTag<T>>;
  static constexpr auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
  static constexpr auto add_present = [](auto a, auto b) HWY_ATTR {
    return hn::Add(a, hn::IfThenZeroElse(hn::IsNaN(b), b));
  };
  HWY_INLINE State run(const T* x, int64_t n, int64_t) const {
    const D d;
    return hn::GetLane(
        hn::SumOfLanes(d, fold(d, x, static_cast<size_t>(n), hn::Zero(d), 0, add_present, add)));
  }
  void columns(const T* x, int64_t step, int64_t rows, int64_t cols, int64_t, State* s) const {
    const LaneTag<T> d;
    fold_columns(d, x, step, rows, cols, hn::Zero(d), add_present,
                 into_states(d, s, [](State a, State b) { return a + b; }));
  }
};

template <class T>
struct Prod {
  using Elem = T;
  using State =
      std::conditional_t<std::is_floating_point_v<T>, double,
                         std::conditional_t<is_complex_v<T>, std::complex<double>, uint64_t>>;
  static constexpr bool ordered = false;
  State start() const { return 1; }
  void merge(State& into, State other) const { into *= other; }
  HWY_INLINE State run(const T* x, int64_t n, int64_t) const {
    if constexpr (std::is_floating_point_v<T>) {
      const LaneTag<double> d;
      const auto mul = [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); };
      HWY_ALIGN double lanes[hn::MaxLanes(d)];
      hn::Store(fold(d, x, static_cast<size_t>(n), hn::Set(d, 1.0), 1.0, mul, mul), d, lanes);
      for (size_t i = 1; i < hn::Lanes(d); ++i) lanes[0] *= lanes[i];
      return lanes[0];
    } else {
      State product = 1;
      for (int64_t i = 0; i < n; ++i) product *= static_cast<State>(x[i]);
      return product;
    }
  }
  void columns(const T* x, int64_t step, int64_t rows, int64_t cols, int64_t, State* s) const {
    if constexpr (std::is_floating_point_v<T>) {
      const LaneTag<double> d;
      fold_columns(
          d, x, step, rows, cols, hn::Set(d, 1.0),
          [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); },
          into_states(d, s, [](State a, State b) { return a * b; }));
    } else {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c) s[c] *= static_cast<State>(x[r * step + c]);
    }
  }
};

// Results of integers are the low bytes of 64 bits, whatever dtype was asked for.
template <class Out, class R>
void put(const R&, char* out, int64_t at, const typename R::State& state, int64_t) {
  Out* const to = reinterpret_cast<Out*>(out) + at;
  if constexpr (is_half_v<Out>) {
    *to = static_cast<float>(state);
  } else {
    *to = static_cast<Out>(state);
  }
}
template <class Out, class R>
void put_mean(const R& r, char* out, int64_t at, const typename R::State& state, int64_t count) {
  put<Out>(r, out, at, state / static_cast<double>(count), count);
}

template <class Elem, uint64_t Mask, template <class> class R>
HWY_INLINE void total(const tn_call& call) {
  constexpr uint64_t kOut = std::is_integral_v<Elem> ? TN_MASK_INT : Mask;
  const auto finish = visit_dtype<kOut>(
      output(call).dtype,
      []<class Out>(Tag<Out>) -> PutFn<R<Elem>> { return put_each<R<Elem>, put<Out, R<Elem>>>; });
  reduce_call(call, R<Elem>(), source_of<Elem, Mask>(input(call, arg::sum::x).dtype), finish);
}

template <template <class> class R>
HWY_INLINE void total_of(const tn_call& call) {
  switch (input(call, arg::sum::x).dtype) {
    case TN_DTYPE_F64:
      return total<double, TN_MASK(TN_DTYPE_F64), R>(call);
    case TN_DTYPE_C64:
      return total<std::complex<float>, TN_MASK(TN_DTYPE_C64), R>(call);
    case TN_DTYPE_C128:
      return total<std::complex<double>, TN_MASK(TN_DTYPE_C128), R>(call);
    case TN_DTYPE_F32:
    case TN_DTYPE_F16:
    case TN_DTYPE_BF16:
      return total<float, TN_MASK(TN_DTYPE_F32) | TN_MASK_HALF, R>(call);
    case TN_DTYPE_BOOL:
    case TN_DTYPE_U8:
      return total<uint8_t, TN_MASK_BOOL | TN_MASK(TN_DTYPE_U8), R>(call);
    default:
      return total<uint64_t, TN_MASK_INT, R>(call);
  }
}

void sum(const tn_call& call) { total_of<Sum>(call); }
void prod(const tn_call& call) { total_of<Prod>(call); }

void count_nonzero(const tn_call& call) {
  using R = Sum<uint8_t>;
  reduce_call(call, R(), truth_of(input(call, arg::count_nonzero::x).dtype),
              put_each<R, put<int64_t, R>>);
}

void nansum(const tn_call& call) {
  visit_dtype<TN_MASK_FLOAT>(input(call, arg::nansum::x).dtype, [&]<class T>(Tag<T>) {
    using R = NanSum<Compute<T>>;
    reduce_call(call, R(), source_of<Compute<T>, TN_MASK(kDtype<T>)>(kDtype<T>),
                put_each<R, put<T, R>>);
  });
}

void mean(const tn_call& call) {
  visit_dtype<TN_MASK_FLOAT | TN_MASK_COMPLEX>(
      input(call, arg::mean::x).dtype, [&]<class T>(Tag<T>) {
        using R = Sum<Compute<T>>;
        reduce_call(call, R(), source_of<Compute<T>, TN_MASK(kDtype<T>)>(kDtype<T>),
                    put_each<R, put_mean<T, R>>);
      });
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_SUM, .dtypes = TN_MASK_ALL, .run = run_of<sum>});
  list.add({.schema = TN_SCHEMA_PROD, .dtypes = TN_MASK_ALL, .run = run_of<prod>});
  list.add(
      {.schema = TN_SCHEMA_COUNT_NONZERO, .dtypes = TN_MASK_ALL, .run = run_of<count_nonzero>});
  list.add({.schema = TN_SCHEMA_NANSUM, .dtypes = TN_MASK_FLOAT, .run = run_of<nansum>});
  list.add(
      {.schema = TN_SCHEMA_MEAN, .dtypes = TN_MASK_FLOAT | TN_MASK_COMPLEX, .run = run_of<mean>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_reduce_sum_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
