// Four elements at a time, for contiguous operands that are aligned to four elements (16 bytes at most): words of memory, and the elements
// in them. Elements are C, or bits.
struct Quad { uint w[8]; };  // the dtype decides how many words are used

uint quad_words(uint dtype) {
  switch (dtype) {
    case DT_BOOL: case DT_U8: case DT_I8: return 1;
    case DT_U16: case DT_I16: case DT_F16: case DT_BF16: return 2;
    case DT_I64: case DT_F64: return 8;
  }
  return 4;
}

#define TN_QUAD_LOAD(k)                                             \
  Quad load_quad##k(uint words, uint q) {                           \
    Quad x;                                                         \
    if (words == 1) x.w[0] = AT32(k, q);                            \
    if (words == 2) {                                               \
      const uvec2 a = AT2x32(k, q);                                 \
      x.w[0] = a.x, x.w[1] = a.y;                                   \
    }                                                               \
    if (words >= 4) {                                               \
      const uvec4 a = AT4x32(k, words == 8 ? 2u * q : q);           \
      x.w[0] = a.x, x.w[1] = a.y, x.w[2] = a.z, x.w[3] = a.w;       \
    }                                                               \
    if (words == 8) {                                               \
      const uvec4 a = AT4x32(k, 2u * q + 1u);                       \
      x.w[4] = a.x, x.w[5] = a.y, x.w[6] = a.z, x.w[7] = a.w;       \
    }                                                               \
    return x;                                                       \
  }
TN_QUAD_LOAD(1)
#if TN_OPERANDS > 2
TN_QUAD_LOAD(2)
#endif
#if TN_OPERANDS > 3
TN_QUAD_LOAD(3)
#endif

void store_quad0(uint words, uint q, Quad x) {
  if (words == 1) AT32(0, q) = x.w[0];
  if (words == 2) AT2x32(0, q) = uvec2(x.w[0], x.w[1]);
  if (words >= 4) AT4x32(0, words == 8 ? 2u * q : q) = uvec4(x.w[0], x.w[1], x.w[2], x.w[3]);
  if (words == 8) AT4x32(0, 2u * q + 1u) = uvec4(x.w[4], x.w[5], x.w[6], x.w[7]);
}

// ---- Element j of a quad as C -------------------------------------------------------------------------------------------

C element(uint dtype, Quad x, uint j) {
#if defined(TN_F32)
  if (dtype == DT_F32) return uintBitsToFloat(x.w[j]);
  const uint h = (x.w[j >> 1] >> (16u * (j & 1u))) & 0xffffu;
  return dtype == DT_F16 ? from_half(h) : from_bfloat(h);
#elif defined(TN_F64)
  if (dtype == DT_F32) return double(uintBitsToFloat(x.w[j]));
  return packDouble2x32(uvec2(x.w[2 * j], x.w[2 * j + 1]));
#else
#ifdef TN_I64
  if (dtype == DT_I64) return C(packUint2x32(uvec2(x.w[2 * j], x.w[2 * j + 1])));
  if (dtype == DT_U32) return C(x.w[j]);
#endif
  if (dtype == DT_I32) return C(int(x.w[j]));
  if (dtype == DT_U16) return C(bitfieldExtract(x.w[j >> 1], 16 * int(j & 1u), 16));
  if (dtype == DT_I16) return C(bitfieldExtract(int(x.w[j >> 1]), 16 * int(j & 1u), 16));
  if (dtype == DT_I8) return C(bitfieldExtract(int(x.w[0]), 8 * int(j), 8));
  return C(bitfieldExtract(x.w[0], 8 * int(j), 8));
#endif
}

// For words that were 0.
void put_element(uint dtype, inout Quad x, uint j, C y) {
  if (dtype == DT_BOOL) x.w[0] |= y != C(0) ? 1u << (8u * j) : 0u;
#if defined(TN_F32)
  if (dtype == DT_F32) x.w[j] = floatBitsToUint(y);
  if (dtype == DT_F16) x.w[j >> 1] |= to_half(y) << (16u * (j & 1u));
  if (dtype == DT_BF16) x.w[j >> 1] |= to_bfloat(y) << (16u * (j & 1u));
#elif defined(TN_F64)
  if (dtype == DT_F32) x.w[j] = floatBitsToUint(float(y));
  if (dtype == DT_F64) {
    const uvec2 a = unpackDouble2x32(y);
    x.w[2 * j] = a.x, x.w[2 * j + 1] = a.y;
  }
#else
#ifdef TN_I64
  if (dtype == DT_I64) {
    const uvec2 a = unpackUint2x32(uint64_t(y));
    x.w[2 * j] = a.x, x.w[2 * j + 1] = a.y;
  }
#endif
  if (dtype == DT_I32 || dtype == DT_U32) x.w[j] = TN_LOW(y);
  if (dtype == DT_U16 || dtype == DT_I16) x.w[j >> 1] |= (TN_LOW(y) & 0xffffu) << (16u * (j & 1u));
  if (dtype == DT_U8 || dtype == DT_I8) x.w[0] |= (TN_LOW(y) & 0xffu) << (8u * j);
#endif
}
