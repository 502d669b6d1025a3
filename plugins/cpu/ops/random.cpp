// Random numbers by sdk/include/tenon/philox.hpp. Threads take ranges of elements, and each element
// knows its block, so their number changes nothing.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "convert.hpp"
#include "dispatch.hpp"
#include "float_kernels.hpp"
#include "kernels.hpp"
#include "tenon/philox.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/random.cpp"
#include <hwy/foreach_target.h>

#include "simd/math-inl.hpp"
#include "simd/wide-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Blocks [first, first + n) of a seed, each as two draws of 64 bits or four of 32.
template <class Draw>
void fill_blocks(uint64_t seed, uint64_t first, int64_t n, Draw* out) {
  constexpr int64_t kPerBlock = 16 / sizeof(Draw);
  int64_t b = 0;
#if HWY_TARGET != HWY_SCALAR
  // One block a 64-bit lane; what stands above a word's 32 bits is never read.
  const hn::ScalableTag<uint64_t> d;
  const hn::Repartition<uint32_t, decltype(d)> narrow;
  const auto m0 = hn::Set(narrow, 0xD2511F53u), m1 = hn::Set(narrow, 0xCD9E8D57u);
  const auto low_half = hn::Set(d, uint64_t{0xffffffff});
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  for (; b + step <= n; b += step) {
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    auto c0 = hn::Add(hn::Set(d, first + static_cast<uint64_t>(b)), hn::Iota(d, 0));
    auto c1 = hn::ShiftRight<32>(c0), c2 = hn::Zero(d), c3 = hn::Zero(d);
    for (int round = 0; round < 10; ++round) {
      const auto x = hn::MulEven(hn::BitCast(narrow, c0), m0),
                 y = hn::MulEven(hn::BitCast(narrow, c2), m1);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(y), c1), hn::Set(d, uint64_t{key0}));
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(x), c3), hn::Set(d, uint64_t{key1}));
      c1 = y;
      c3 = x;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    const auto even = hn::Or(hn::And(c0, low_half), hn::ShiftLeft<32>(c1));
    const auto odd = hn::Or(hn::And(c2, low_half), hn::ShiftLeft<32>(c3));
    hn::StoreInterleaved2(even, odd, d, reinterpret_cast<uint64_t*>(out + kPerBlock * b));
  }
#endif
  for (; b < n; ++b) {
    const philox::Block block = philox::block(seed, first + static_cast<uint64_t>(b));
    for (int64_t k = 0; k < kPerBlock; ++k) {
      if constexpr (sizeof(Draw) == 8)
        out[kPerBlock * b + k] = philox::draw64(block, static_cast<uint64_t>(k));
      else
        out[kPerBlock * b + k] = block.lane[k];
    }
  }
}

// visit(begin, n, draws) for stretches of elements that begin at multiples of kStretch; a stretch's
// draws are in element order.
constexpr int64_t kStretch = 512;
template <class Draw, class Visit>
void each_stretch(const tn_call& call, uint32_t generator, int64_t n, Visit visit) {
  constexpr int64_t kPerBlock = 16 / sizeof(Draw);
  const sdk::Call args(call);
  const uint64_t seed = args.seed(generator), offset = args.offset(generator);
  const int64_t stretches = (n + kStretch - 1) / kStretch;
  parallel_for(stretches, kGrainMath / kStretch, [&](int64_t first, int64_t last) HWY_ATTR {
    alignas(64) Draw words[kStretch];
    for (int64_t s = first; s < last; ++s) {
      const int64_t begin = s * kStretch, m = std::min(kStretch, n - begin);
      fill_blocks(seed, offset + static_cast<uint64_t>(begin / kPerBlock),
                  (m + kPerBlock - 1) / kPerBlock, words);
      visit(begin, m, static_cast<const Draw*>(words));
    }
  });
}

template <class T>
void store(const float* values, T* out, int64_t n) {
  if constexpr (std::is_same_v<T, float>)
    std::copy(values, values + n, out);
  else if constexpr (std::is_same_v<T, F16>)
    half_conversions().to_f16(values, reinterpret_cast<uint16_t*>(out), n);
  else
    half_conversions().to_bf16(values, reinterpret_cast<uint16_t*>(out), n);
}

template <class T>
HWY_INLINE Compute<T> unit(uint32_t draw) {
  constexpr int kBits = std::is_same_v<T, F16> ? 11 : std::is_same_v<T, BF16> ? 8 : 24;
  return static_cast<float>(static_cast<int32_t>(draw >> (32 - kBits))) *
         (1.0f / static_cast<float>(1 << kBits));
}

template <class T>
void uniform(const tn_call& call) {
  using arg = tenon::arg::uniform;
  const tn_view& view = output(call);
  T* out = data_of<T>(view);
  using R = Compute<T>;
  using Draw = std::conditional_t<std::is_same_v<T, double>, uint64_t, uint32_t>;
  const R low = static_cast<R>(real_arg(call, arg::low)),
          high = static_cast<R>(real_arg(call, arg::high)), range = high - low;
  const bool plain = low == 0 && range == 1;
  each_stretch<Draw>(call, arg::generator, numel(view),
                     [=](int64_t begin, int64_t n, const Draw* draws) HWY_ATTR {
                       R values[kStretch];
                       for (int64_t i = 0; i < n; ++i) {
                         if constexpr (sizeof(Draw) == 8)
                           values[i] = philox::uniform_f64(draws[i]);
                         else
                           values[i] = unit<T>(draws[i]);
                       }
                       for (int64_t i = 0; !plain && i < n; ++i) {
                         const R value = std::fma(values[i], range, low);
                         values[i] = value < high ? value : low;
                       }
                       if constexpr (std::is_same_v<T, double>)
                         std::copy(values, values + n, out + begin);
                       else
                         store(values, out + begin, n);
                       // Rounding to a half type may reach the end once more.
                       if constexpr (is_half_v<T>)
                         for (int64_t i = 0; !plain && i < n; ++i)
                           if (!(static_cast<float>(out[begin + i]) < high))
                             out[begin + i] = T(low);
                     });
}

// Box-Muller in f64 lanes, rounded to f32: z[2k] and z[2k + 1] from draws 2k and 2k + 1; n is even.
void normal_pairs(const uint32_t* draws, float* z, int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const hn::Rebind<float, decltype(d)> df;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  alignas(64) int32_t first[kStretch], second[kStretch];
  for (int64_t k = 0; k < n / 2; ++k) {
    first[k] = static_cast<int32_t>((draws[2 * k] >> 8) + 1);
    second[k] = static_cast<int32_t>(draws[2 * k + 1] >> 8);
  }
  alignas(64) float even[kStretch], odd[kStretch];
  std::fill(first + n / 2, first + std::min(kStretch, n / 2 + step), 1);
  std::fill(second + n / 2, second + std::min(kStretch, n / 2 + step), 0);
  for (int64_t k = 0; k < n / 2; k += step) {
    const auto unit = hn::Set(d, 0x1p-24);
    const auto u = hn::Mul(hn::PromoteTo(d, hn::Load(di, first + k)), unit);
    const auto angle = hn::Mul(hn::PromoteTo(d, hn::Load(di, second + k)),
                               hn::Set(d, 0x1p-24 * 6.283185307179586476925));
    const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), hn::Log(d, u)));
    hn::Vec<decltype(d)> sine, cosine;
    sincos_f64(d, angle, sine, cosine);
    hn::Store(hn::DemoteTo(df, hn::Mul(radius, cosine)), df, even + k);
    hn::Store(hn::DemoteTo(df, hn::Mul(radius, sine)), df, odd + k);
  }
  for (int64_t k = 0; k < n / 2; ++k) {
    z[2 * k] = even[k];
    z[2 * k + 1] = odd[k];
  }
}

template <class T>
void normal(const tn_call& call) {
  using arg = tenon::arg::normal;
  const tn_view& view = output(call);
  T* out = data_of<T>(view);
  using R = Compute<T>;
  const R mean = static_cast<R>(real_arg(call, arg::mean)),
          std = static_cast<R>(real_arg(call, arg::std));
  const int64_t size = numel(view);
  if constexpr (std::is_same_v<T, double>) {
    each_stretch<uint64_t>(call, arg::generator, size + size % 2,
                           [=](int64_t begin, int64_t n, const uint64_t* draws) HWY_ATTR {
                             for (int64_t i = 0; i < n; i += 2) {
                               double even, odd;
                               philox::normal_pair<double>(draws[i], draws[i + 1], even, odd);
                               out[begin + i] = std::fma(even, std, mean);
                               if (begin + i + 1 < size)
                                 out[begin + i + 1] = std::fma(odd, std, mean);
                             }
                           });
  } else {
    each_stretch<uint32_t>(call, arg::generator, size + size % 2,
                           [=](int64_t begin, int64_t n, const uint32_t* draws) HWY_ATTR {
                             float z[kStretch];
                             normal_pairs(draws, z, n);
                             for (int64_t i = 0; i < n; ++i) z[i] = std::fma(z[i], std, mean);
                             store(z, out + begin, std::min(n, size - begin));
                           });
  }
}

template <class T>
void randint(const tn_call& call) {
  using arg = tenon::arg::randint;
  const tn_view& view = output(call);
  T* out = data_of<T>(view);
  const int64_t low = call.args[arg::low].as.i, high = call.args[arg::high].as.i;
  each_stretch<uint64_t>(call, arg::generator, numel(view),
                         [=](int64_t begin, int64_t n, const uint64_t* draws) HWY_ATTR {
                           for (int64_t i = 0; i < n; ++i)
                             out[begin + i] = static_cast<T>(philox::randint(draws[i], low, high));
                         });
}

// draw < ceil(p 2^24) is draw < p 2^24 for whole draws; NaN is never above.
template <class T>
void bernoulli(const tn_call& call) {
  const tn_view& view = output(call);
  T* out = data_of<T>(view);
  const T* p = data_of<const T>(input(call, arg::bernoulli::p));
  using R = Compute<T>;
  each_stretch<uint32_t>(
      call, arg::bernoulli::generator, numel(view),
      [=](int64_t begin, int64_t n, const uint32_t* draws) HWY_ATTR {
        for (int64_t i = 0; i < n; ++i) {
          const R limit = static_cast<R>(p[begin + i]) * R(0x1p24);
          out[begin + i] = static_cast<T>(
              static_cast<R>(static_cast<int32_t>(draws[i] >> 8)) < limit ? R(1) : R(0));
        }
      });
}

template <class T>
void dropout_mask(const tn_call& call) {
  const tn_view& view = output(call);
  T* out = data_of<T>(view);
  const double p = real_arg(call, arg::dropout_mask::p);
  const int32_t threshold = static_cast<int32_t>(philox::bernoulli_threshold(p));
  const T kept = static_cast<T>(static_cast<Compute<T>>(p < 1 ? 1 / (1 - p) : 0)),
          dropped = static_cast<T>(Compute<T>(0));
  each_stretch<uint32_t>(call, arg::dropout_mask::generator, numel(view),
                         [=](int64_t begin, int64_t n, const uint32_t* draws) HWY_ATTR {
                           for (int64_t i = 0; i < n; ++i)
                             out[begin + i] =
                                 static_cast<int32_t>(draws[i] >> 8) < threshold ? dropped : kept;
                         });
}

template <class... T>
void add_randint(KernelList& list) {
  (list.add({.schema = TN_SCHEMA_RANDINT, .dtypes = TN_MASK(kDtype<T>), .run = run_of<randint<T>>}),
   ...);
}

void add_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    const uint64_t mask = TN_MASK(kDtype<T>);
    list.add({.schema = TN_SCHEMA_UNIFORM, .dtypes = mask, .run = run_of<uniform<T>>});
    list.add({.schema = TN_SCHEMA_NORMAL, .dtypes = mask, .run = run_of<normal<T>>});
    list.add({.schema = TN_SCHEMA_BERNOULLI, .dtypes = mask, .run = run_of<bernoulli<T>>});
    list.add({.schema = TN_SCHEMA_DROPOUT_MASK,
              .dtypes = mask,
              .run = run_of<dropout_mask<T>>,
              .flags = TN_KERNEL_STRIDED});
  });
  add_randint<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t>(list);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_random_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
