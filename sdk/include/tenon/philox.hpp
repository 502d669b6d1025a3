// Philox 4x32-10 and how ops turn its output into numbers: the one definition that every backend follows, so that a seed gives
// the same numbers everywhere, for any number of threads.
//
// A generator is a seed and an offset in blocks. Block b of a seed is philox4x32-10 with key {seed low, seed high} and counter
// {b low, b high, 0, 0}. An op over n elements starts at the offset that the core gives it and owns (n + 1) / 2 blocks,
// however many of them it uses. Element i is in row-major order of the result.
//   draw32(i)   lane i % 4 of block offset + i / 4
//   draw64(i)   lanes j and j + 1 (low, high) of block offset + i / 2, with j = 2 * (i % 2)
//   uniform     f32: upper 24 bits of draw32 / 2^24; f16: 11 bits; bf16: 8 bits; f64: upper 53 bits of draw64 / 2^53.
//               In [0, 1), exact; then fma(u, high - low, low) in f32 (f64 for f64), rounded; a result ≥ high becomes low.
//   normal      Box-Muller on the pair of elements (2k, 2k + 1): u = ((draw(2k) >> 8) + 1) / 2^24 (in (0, 1]),
//               v = (draw(2k + 1) >> 8) / 2^24, r = sqrt(-2 ln u); the even one is r cos(2πv), the odd one r sin(2πv).
//               f64: draw64, >> 11, 2^53. Half types compute in f32 from draw32. Then fma(z, std, mean).
//   randint     low + upper 64 bits of draw64 × (high − low)
//   bernoulli   1 where (draw32 >> 8) < ceil(p · 2^24), dropout masks keep where it is not below: never for p = 0, always for 1
//   randperm    the stable argsort of draw64(0 … n − 1)
#ifndef TENON_SDK_PHILOX_HPP
#define TENON_SDK_PHILOX_HPP

#include <cmath>
#include <cstdint>

// A plugin compiled for GPUs defines it as __host__ __device__.
#ifndef TENON_PHILOX_FN
#define TENON_PHILOX_FN
#endif

namespace tenon {
namespace philox __attribute__((visibility("hidden"))) {

  struct Block {
    uint32_t lane[4];
  };

  TENON_PHILOX_FN constexpr Block philox4x32_10(Block counter, uint32_t key0, uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53u} * counter.lane[0];
      const uint64_t b = uint64_t{0xCD9E8D57u} * counter.lane[2];
      counter = {{static_cast<uint32_t>(b >> 32) ^ counter.lane[1] ^ key0, static_cast<uint32_t>(b),
                  static_cast<uint32_t>(a >> 32) ^ counter.lane[3] ^ key1,
                  static_cast<uint32_t>(a)}};
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    return counter;
  }

  TENON_PHILOX_FN constexpr Block block(uint64_t seed, uint64_t index) {
    return philox4x32_10({{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), 0, 0}},
                         static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  }

  // The number of blocks that an op over n elements owns.
  TENON_PHILOX_FN constexpr uint64_t blocks_for(uint64_t n) { return n / 2 + n % 2; }

  TENON_PHILOX_FN constexpr uint32_t draw32(uint64_t seed, uint64_t offset, uint64_t i) {
    return block(seed, offset + i / 4).lane[i % 4];
  }
  // The draw of element i from a block that is already computed.
  TENON_PHILOX_FN constexpr uint64_t draw64(const Block& from, uint64_t i) {
    const unsigned j = 2 * static_cast<unsigned>(i % 2);
    return from.lane[j] | static_cast<uint64_t>(from.lane[j + 1]) << 32;
  }
  TENON_PHILOX_FN constexpr uint64_t draw64(uint64_t seed, uint64_t offset, uint64_t i) {
    return draw64(block(seed, offset + i / 2), i);
  }

  // In [0, 1), with as many bits as the dtype holds exactly.
  TENON_PHILOX_FN constexpr float uniform_f32(uint32_t draw) {
    return static_cast<float>(draw >> 8) * 0x1p-24f;
  }
  TENON_PHILOX_FN constexpr float uniform_f16(uint32_t draw) {
    return static_cast<float>(draw >> 21) * 0x1p-11f;
  }
  TENON_PHILOX_FN constexpr float uniform_bf16(uint32_t draw) {
    return static_cast<float>(draw >> 24) * 0x1p-8f;
  }
  TENON_PHILOX_FN constexpr double uniform_f64(uint64_t draw) {
    return static_cast<double>(draw >> 11) * 0x1p-53;
  }

  // u scaled to [low, high); an empty range gives low.
  template <class T>
  TENON_PHILOX_FN T uniform_between(T u, T low, T high) {
    const T value = std::fma(u, high - low, low);
    return value < high ? value : low;
  }

  // Two standard normal numbers from the draws of a pair of elements.
  template <class T, class Draw>
  TENON_PHILOX_FN void normal_pair(Draw first, Draw second, T & even, T & odd) {
    constexpr bool kWide = sizeof(Draw) == 8;
    constexpr T kUnit = kWide ? static_cast<T>(0x1p-53) : static_cast<T>(0x1p-24);
    constexpr int kShift = kWide ? 11 : 8;
    const T u = static_cast<T>((first >> kShift) + 1) * kUnit;
    const T angle =
        static_cast<T>(6.283185307179586476925) * (static_cast<T>(second >> kShift) * kUnit);
    const T radius = std::sqrt(static_cast<T>(-2) * std::log(u));
    even = radius * std::cos(angle);
    odd = radius * std::sin(angle);
  }

  // Upper half of the 128-bit product, without a 128-bit type.
  TENON_PHILOX_FN constexpr uint64_t multiply_high(uint64_t a, uint64_t b) {
    const uint64_t a0 = static_cast<uint32_t>(a), a1 = a >> 32, b0 = static_cast<uint32_t>(b),
                   b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    return a1 * b1 + (middle >> 32) + ((a0 * b1 + static_cast<uint32_t>(middle)) >> 32);
  }
  TENON_PHILOX_FN constexpr int64_t randint(uint64_t draw, int64_t low, int64_t high) {
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + multiply_high(draw, range));
  }

  // (draw >> 8) < threshold happens with probability p.
  inline uint32_t bernoulli_threshold(double p) {
    return p <= 0 ? 0u : p >= 1 ? 1u << 24 : static_cast<uint32_t>(std::ceil(p * 0x1p24));
  }

}  // namespace philox
}  // namespace tenon
#endif
