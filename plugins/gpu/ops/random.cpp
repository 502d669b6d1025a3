// Random numbers, the same as in sdk/include/tenon/philox.hpp; only the last bits of normal ones are rounded differently.
#include "arithmetic.hpp"
#include "draws.hpp"
#include "kernels.hpp"
#include "launch.hpp"

namespace tenon::gpu {
namespace {

// One Philox block for each thread: fn.write(block, j) writes its number j. `together`: the numbers of a block are stored at once.
template <class T, uint32_t kDraws, class Fn>
GPU_KERNEL fill_random(Fn fn, Draws draws, int64_t count, bool together, Ptr<T> out) {
  for (int64_t b = first_thread(); b < (count + kDraws - 1) / kDraws; b += thread_count()) {
    const philox::Block block = draws.block(b);
    const int64_t first = b * kDraws;
    Vec<T, kDraws> made;
    for (uint32_t j = 0; j < kDraws; ++j)
      made.at[j] = first + j < count ? fn(block, j, first + j) : T{};
    if (together && first + kDraws <= count)
      store_vec<kDraws>(out + first, made);
    else
      for (uint32_t j = 0; j < kDraws && first + j < count; ++j) out[first + j] = made.at[j];
  }
}

template <class T, uint32_t kDraws, class Fn>
void run(const tn_call& call, uint32_t generator, const Fn& fn) {
  const tn_view& to = output(call);
  const int64_t n = numel(to), blocks = (n + kDraws - 1) / kDraws;
  const bool together = reinterpret_cast<uintptr_t>(to.data) % (kDraws * sizeof(T)) == 0;
  launch(call, grid_of(blocks), fill_random<T, kDraws, Fn>, fn, draws_of(call, generator), n,
         together, out<T>(to));
}

template <class T>
inline constexpr uint32_t kDrawsOf = sizeof(T) == 8 ? 2 : 4;

// In [0, 1), with as many bits as the dtype represents exactly.
template <class T>
GPU_FN Compute<T> unit(const philox::Block& block, uint32_t j) {
  if constexpr (std::is_same_v<T, double>)
    return philox::uniform_f64(philox::draw64(block, j));
  else if constexpr (std::is_same_v<T, Half>)
    return philox::uniform_f16(block.lane[j]);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return philox::uniform_bf16(block.lane[j]);
  else
    return philox::uniform_f32(block.lane[j]);
}

template <class T>
struct Uniform {
  Compute<T> low, high;
  GPU_FN T operator()(const philox::Block& block, uint32_t j, int64_t) const {
    const Compute<T> u = unit<T>(block, j);
    if (low == Compute<T>(0) && high == Compute<T>(1)) return narrow<T>(u);
    const T y = narrow<T>(philox::uniform_between(u, low, high));
    return widen(y) < high ? y : narrow<T>(low);  // rounding to a half type may reach `high`
  }
};

// Box-Muller on draws 2k and 2k + 1: the radius times cosine and sine.
GPU_FN double normal_of(const philox::Block& block, uint32_t j, double) {
  double even, odd;
  philox::normal_pair<double>(philox::draw64(block, 0), philox::draw64(block, 1), even, odd);
  return j == 0 ? even : odd;
}
// Subtracts the nearest quarter turn exactly; sine and cosine of the remaining small angle are quick and accurate.
GPU_FN float normal_of(const philox::Block& block, uint32_t j, float) {
  const uint32_t first = (block.lane[j & 2] >> 8) + 1, second = block.lane[(j & 2) + 1] >> 8;
  const float radius = std::sqrt(-2.0f * std::log(static_cast<float>(first) * 0x1p-24f));
  const uint32_t quarter = (second + (1u << 21)) >> 22;
  const float angle = static_cast<float>(static_cast<int32_t>(second - (quarter << 22))) *
                      3.74507027e-7f;  // pi / 2 / 2^22
  const bool is_cosine = ((quarter ^ j) & 1) == 0;
  const float y = is_cosine ? std::cos(angle) : std::sin(angle);
  const bool negative = (j & 1) == 0 ? ((quarter + 1) & 2) != 0 : (quarter & 2) != 0;
  return radius * (negative ? -y : y);
}

template <class T>
struct Normal {
  Compute<T> mean, std;
  GPU_FN T operator()(const philox::Block& block, uint32_t j, int64_t) const {
    return narrow<T>(std::fma(normal_of(block, j, Compute<T>(0)), std, mean));
  }
};

// For integers by size: low + the upper 64 bits of draw x range, truncated.
template <class T>
struct Randint {
  int64_t low, high;
  GPU_FN T operator()(const philox::Block& block, uint32_t j, int64_t) const {
    return static_cast<T>(philox::randint(philox::draw64(block, j), low, high));
  }
};

template <class T>
struct Bernoulli {
  Ptr<const T> p;
  GPU_FN T operator()(const philox::Block& block, uint32_t j, int64_t i) const {
    using C = Compute<T>;
    const T at = p[i];
    // NaN is never above.
    return narrow<T>(static_cast<C>(block.lane[j] >> 8) < widen(at) * C(0x1p24) ? C(1) : C(0));
  }
};

template <class T>
struct DropoutMask {
  T kept;
  uint32_t threshold;
  GPU_FN T operator()(const philox::Block& block, uint32_t j, int64_t) const {
    return (block.lane[j] >> 8) < threshold ? T{} : kept;
  }
};

template <template <class> class Fn>
void run_real(const tn_call& call, uint32_t) {
  using arg = tenon::arg::uniform;  // normal has mean and std in the positions of low and high
  with_type(Floats{}, output(call).dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    run<T, kDrawsOf<T>>(
        call, arg::generator,
        Fn<T>{static_cast<C>(real_arg(call, arg::low)), static_cast<C>(real_arg(call, arg::high))});
  });
}

void run_randint(const tn_call& call, uint32_t) {
  using arg = tenon::arg::randint;
  with_type(Sizes{}, bits_of(output(call).dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    run<T, 2>(call, arg::generator, Randint<T>{int_arg(call, arg::low), int_arg(call, arg::high)});
  });
}

void run_bernoulli(const tn_call& call, uint32_t) {
  with_type(Floats{}, output(call).dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    run<T, 4>(call, arg::bernoulli::generator, Bernoulli<T>{in<T>(input(call, arg::bernoulli::p))});
  });
}

void run_dropout_mask(const tn_call& call, uint32_t) {
  const double p = real_arg(call, arg::dropout_mask::p);
  with_type(Floats{}, output(call).dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kept = static_cast<Compute<T>>(p < 1 ? 1 / (1 - p) : 0);
    run<T, 4>(call, arg::dropout_mask::generator,
              DropoutMask<T>{narrow<T>(kept), philox::bernoulli_threshold(p)});
  });
}

}  // namespace

void add_random_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_UNIFORM, .dtypes = Floats::kMask, .run = run_real<Uniform>});
  list.add({.schema = TN_SCHEMA_NORMAL, .dtypes = Floats::kMask, .run = run_real<Normal>});
  list.add({.schema = TN_SCHEMA_RANDINT, .dtypes = Ints::kMask, .run = run_randint});
  list.add({.schema = TN_SCHEMA_BERNOULLI, .dtypes = Floats::kMask, .run = run_bernoulli});
  list.add({.schema = TN_SCHEMA_DROPOUT_MASK,
            .dtypes = Floats::kMask,
            .run = run_dropout_mask,
            .flags = TN_KERNEL_STRIDED});
}

}  // namespace tenon::gpu
