// Checked indices of any integer dtype. An index out of range is reported in the slot from Launch::check(): sets word 0, then writes the
// index, low and high, and its position.
const uint NOWHERE = 0xffffffffu;

// The 64 bits of an index.
#define TN_INDEX(k)                                                                                         \
  uvec2 index_bits##k(uint dtype, uint i) {                                                                 \
    if (dtype == DT_I64) return uvec2(AT32(k, 2u * i), AT32(k, 2u * i + 1u));                               \
    if (dtype == DT_U32) return uvec2(AT32(k, i), 0u);                                                      \
    if (dtype == DT_U16) return uvec2(uint(AT16(k, i)), 0u);                                                \
    if (dtype == DT_U8) return uvec2(uint(AT8(k, i)), 0u);                                                  \
    const int x = dtype == DT_I32   ? int(AT32(k, i))                                                       \
                  : dtype == DT_I16 ? bitfieldExtract(int(uint(AT16(k, i))), 0, 16)                         \
                                    : bitfieldExtract(int(uint(AT8(k, i))), 0, 8);                          \
    return uvec2(uint(x), x < 0 ? 0xffffffffu : 0u);                                                        \
  }
TN_INDEX(0) TN_INDEX(1) TN_INDEX(2) TN_INDEX(3) TN_INDEX(4) TN_INDEX(5) TN_INDEX(6)

// The position that the index points to below `size`; with `wrap`, negative ones count from the end. NOWHERE if out of range.
uint place_at(uvec2 bits, uint size, bool wrap) {
  if (wrap && bits.y == 0xffffffffu && bits.x + size < size) return bits.x + size;
  return bits.y == 0u && bits.x < size ? bits.x : NOWHERE;
}

#define NOTE_INDEX(k, bits, position)                 \
  if (atomicCompSwap(AT32(k, 0), 0u, 1u) == 0u) {     \
    AT32(k, 1) = bits.x;                              \
    AT32(k, 2) = bits.y;                              \
    AT32(k, 3) = position;                            \
  }
