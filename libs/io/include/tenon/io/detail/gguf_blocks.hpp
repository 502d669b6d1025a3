// The element formats of GGUF tensors, plain or quantised in blocks, and how to unpack a block.
// Layouts: the structs block_* of ggml (https://github.com/ggml-org/ggml, src/ggml-common.h).
#ifndef TENON_IO_DETAIL_GGUF_BLOCKS_HPP
#define TENON_IO_DETAIL_GGUF_BLOCKS_HPP

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/dtype.hpp"

namespace tenon::io::detail {

// A little-endian binary16 at any address.
inline float half_at(const uint8_t* p) {
  return tn_f16_to_f32(static_cast<uint16_t>(p[0] | p[1] << 8));
}

// x = d·(q − 8), or with a minimum m, d·q + m: 32 quants of 4 bits, the low nibbles first.
template <bool minimum>
void unpack_q4(const uint8_t* block, float* x) {
  const float d = half_at(block), m = minimum ? half_at(block + 2) : -8 * d;
  const uint8_t* q = block + (minimum ? 4 : 2);
  for (int i = 0; i < 16; ++i) {
    x[i] = d * static_cast<float>(q[i] & 15) + m;
    x[i + 16] = d * static_cast<float>(q[i] >> 4) + m;
  }
}

// The same with 5 bits: the fifth bits are a separate 32-bit word.
template <bool minimum>
void unpack_q5(const uint8_t* block, float* x) {
  const float d = half_at(block), m = minimum ? half_at(block + 2) : -16 * d;
  const uint8_t *high = block + (minimum ? 4 : 2), *q = high + 4;
  const auto fifth = [&](int i) { return (high[i / 8] >> (i % 8) & 1) << 4; };
  for (int i = 0; i < 16; ++i) {
    x[i] = d * static_cast<float>((q[i] & 15) | fifth(i)) + m;
    x[i + 16] = d * static_cast<float>(q[i] >> 4 | fifth(i + 16)) + m;
  }
}

inline void unpack_q8_0(const uint8_t* block, float* x) {
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

// For k-quants: scale and minimum of the i-th of eight groups, 6 bits each, packed into 12 bytes.
struct GroupScale {
  float scale, minimum;
};
inline GroupScale group_scale(const uint8_t* s, int i) {
  if (i < 4) return {static_cast<float>(s[i] & 63), static_cast<float>(s[i + 4] & 63)};
  return {static_cast<float>((s[i + 4] & 15) | (s[i - 4] >> 6) << 4),
          static_cast<float>(s[i + 4] >> 4 | (s[i] >> 6) << 4)};
}

// 256 quants of 4 or 5 bits in eight groups: x = d·scale·q − dmin·minimum.
template <bool fifth>
void unpack_q45_k(const uint8_t* block, float* x) {
  const float d = half_at(block), dmin = half_at(block + 2);
  const uint8_t *scales = block + 4, *high = block + 16, *q = high + (fifth ? 32 : 0);
  for (int group = 0; group < 8; ++group) {
    const GroupScale s = group_scale(scales, group);
    const float factor = d * s.scale, offset = dmin * s.minimum;
    const uint8_t* pair = q + group / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      int value = group % 2 == 0 ? pair[i] & 15 : pair[i] >> 4;
      if (fifth) value |= (high[i] >> group & 1) << 4;
      *x++ = factor * static_cast<float>(value) - offset;
    }
  }
}

// 256 quants of 6 bits, 4 in `low` and 2 in `high`: x = d·scale·(q − 32), with one scale for every 16.
inline void unpack_q6_k(const uint8_t* block, float* x) {
  const uint8_t *low = block, *high = block + 128, *scales = block + 192;
  const float d = half_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, quarter = i % 128 / 32, lane = i % 32;
    const uint8_t byte = low[half * 64 + quarter % 2 * 32 + lane];
    const int four = quarter < 2 ? byte & 15 : byte >> 4;
    const int two = high[half * 32 + lane] >> (2 * quarter) & 3;
    x[i] = d * static_cast<float>(static_cast<int8_t>(scales[i / 16])) *
           static_cast<float>((four | two << 4) - 32);
  }
}

struct GgufType {
  uint32_t code;
  const char* name;
  uint32_t elements, bytes;                        // of a block
  DType dtype;                                     // after loading
  void (*unpack)(const uint8_t* block, float* x);  // none if elements are stored as in memory
};

inline constexpr GgufType kGgufTypes[] = {{0, "F32", 1, 4, DType::F32, nullptr},
                                          {1, "F16", 1, 2, DType::F16, nullptr},
                                          {2, "Q4_0", 32, 18, DType::F32, unpack_q4<false>},
                                          {3, "Q4_1", 32, 20, DType::F32, unpack_q4<true>},
                                          {6, "Q5_0", 32, 22, DType::F32, unpack_q5<false>},
                                          {7, "Q5_1", 32, 24, DType::F32, unpack_q5<true>},
                                          {8, "Q8_0", 32, 34, DType::F32, unpack_q8_0},
                                          {12, "Q4_K", 256, 144, DType::F32, unpack_q45_k<false>},
                                          {13, "Q5_K", 256, 176, DType::F32, unpack_q45_k<true>},
                                          {14, "Q6_K", 256, 210, DType::F32, unpack_q6_k},
                                          {24, "I8", 1, 1, DType::I8, nullptr},
                                          {25, "I16", 1, 2, DType::I16, nullptr},
                                          {26, "I32", 1, 4, DType::I32, nullptr},
                                          {27, "I64", 1, 8, DType::I64, nullptr},
                                          {28, "F64", 1, 8, DType::F64, nullptr},
                                          {30, "BF16", 1, 2, DType::BF16, nullptr}};

}  // namespace tenon::io::detail
#endif
