// Elements as unsigned numbers of the same order, (high, low): NaN last, -0 equal to 0. Works on bits, so it serves every dtype.
uvec2 float_key(uint bits) {
  if (is_nan_bits(bits)) return uvec2(0u, ~0u);
  if (bits == 0x80000000u) bits = 0u;
  return uvec2(0u, (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u);
}

uvec2 double_key(uint high, uint low) {
  const uint rest = high & 0x7fffffffu;
  if (rest > 0x7ff00000u || (rest == 0x7ff00000u && low != 0u)) return uvec2(~0u, ~0u);
  if (high == 0x80000000u && low == 0u) high = 0u;
  return (high & 0x80000000u) != 0u ? uvec2(~high, ~low) : uvec2(high | 0x80000000u, low);
}

#define TN_KEY(k)                                                                                  \
  uvec2 key##k(uint dtype, uint i) {                                                               \
    switch (dtype) {                                                                               \
      case DT_F32: return float_key(AT32(k, i));                                                   \
      case DT_F16: return float_key(floatBitsToUint(from_half(uint(AT16(k, i)))));                 \
      case DT_BF16: return float_key(uint(AT16(k, i)) << 16);                                      \
      case DT_F64: return double_key(AT32(k, 2 * i + 1), AT32(k, 2 * i));                          \
      case DT_I64: return uvec2(AT32(k, 2 * i + 1) ^ 0x80000000u, AT32(k, 2 * i));                 \
      case DT_U32: return uvec2(0u, AT32(k, i));                                                   \
      case DT_I32: return uvec2(0u, AT32(k, i) ^ 0x80000000u);                                     \
      case DT_U16: return uvec2(0u, uint(AT16(k, i)));                                             \
      case DT_I16: return uvec2(0u, uint(AT16(k, i)) ^ 0x8000u);                                   \
      case DT_I8: return uvec2(0u, uint(AT8(k, i)) ^ 0x80u);                                       \
    }                                                                                              \
    return uvec2(0u, uint(AT8(k, i)));                                                             \
  }

bool less(uvec2 a, uvec2 b) { return a.x < b.x || (a.x == b.x && a.y < b.y); }
