// The beginning of every shader: how it reaches memory, and the type it computes in.
//
// Compiled with -DTN_F32, TN_F64, TN_I32 or TN_I64 (what `C` is), and with -DTN_BOUND if buffers are bound instead of addressed.
// Loops test at their end if possible: a driver that masks inactive lanes (a software device) then runs no iteration in vain.
// load0(dtype, i) … load6 read element i of a slot and convert it to C; store0 … write one. table(i) is slot 7.
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_control_flow_attributes : require
#if defined(TN_F64) || defined(TN_I64) || defined(TN_WIDE)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define TN_HAS_64
#endif
#ifndef TN_BOUND
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;

// Codes of tenon/dtype.h.
const uint DT_BOOL = 0, DT_U8 = 1, DT_U16 = 2, DT_U32 = 3, DT_U64 = 4, DT_I8 = 5, DT_I16 = 6, DT_I32 = 7, DT_I64 = 8;
const uint DT_F16 = 9, DT_BF16 = 10, DT_F32 = 11, DT_F64 = 12;

#if defined(TN_F64)
#define C double
#elif defined(TN_I32)
#define C int
#elif defined(TN_I64)
#define C int64_t
#else
#define C float
#endif
#if defined(TN_F32) || defined(TN_F64)
#define TN_FLOATING
#endif

layout(push_constant) uniform Push {
  uvec2 slot[8];  // the address of each buffer; if bound, x is the byte where it begins
  uint word[16];
} push;
float real_word(uint i) { return uintBitsToFloat(push.word[i]); }

// ---- Memory -------------------------------------------------------------------------------------------------------------

#ifdef TN_BOUND
#define TN_ARRAYS(k)                                                             \
  layout(set = 0, binding = k, std430) buffer B8_##k { uint8_t v[]; } b8_##k;    \
  layout(set = 0, binding = k, std430) buffer B16_##k { uint16_t v[]; } b16_##k; \
  layout(set = 0, binding = k, std430) buffer B32_##k { uint v[]; } b32_##k;     \
  layout(set = 0, binding = k, std430) buffer B2x32_##k { uvec2 v[]; } b2x32_##k; \
  layout(set = 0, binding = k, std430) buffer B4x32_##k { uvec4 v[]; } b4x32_##k;
#define AT8(k, i) b8_##k.v[push.slot[k].x + (i)]
#define AT16(k, i) b16_##k.v[(push.slot[k].x >> 1) + (i)]
#define AT32(k, i) b32_##k.v[(push.slot[k].x >> 2) + (i)]
#define AT2x32(k, i) b2x32_##k.v[(push.slot[k].x >> 3) + (i)]
#define AT4x32(k, i) b4x32_##k.v[(push.slot[k].x >> 4) + (i)]
#else
layout(buffer_reference, std430, buffer_reference_align = 1) buffer P8 { uint8_t v[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer P16 { uint16_t v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer P32 { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer P2x32 { uvec2 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer P4x32 { uvec4 v[]; };
#define TN_ARRAYS(k)
#define AT8(k, i) P8(push.slot[k]).v[i]
#define AT16(k, i) P16(push.slot[k]).v[i]
#define AT32(k, i) P32(push.slot[k]).v[i]
#define AT2x32(k, i) P2x32(push.slot[k]).v[i]  // for slots aligned to 8 bytes
#define AT4x32(k, i) P4x32(push.slot[k]).v[i]  // for slots aligned to 16 bytes
#endif

#ifdef TN_HAS_64
#ifdef TN_BOUND
#define TN_ARRAYS64(k)                                                           \
  layout(set = 0, binding = k, std430) buffer B64_##k { int64_t v[]; } b64_##k;
#define AT64(k, i) b64_##k.v[(push.slot[k].x >> 3) + (i)]
#else
layout(buffer_reference, std430, buffer_reference_align = 8) buffer P64 { int64_t v[]; };
#define TN_ARRAYS64(k)
#define AT64(k, i) P64(push.slot[k]).v[i]
#endif
#else
#define TN_ARRAYS64(k)
#endif

TN_ARRAYS(0) TN_ARRAYS(1) TN_ARRAYS(2) TN_ARRAYS(3) TN_ARRAYS(4) TN_ARRAYS(5) TN_ARRAYS(6) TN_ARRAYS(7)
TN_ARRAYS64(0) TN_ARRAYS64(1) TN_ARRAYS64(2) TN_ARRAYS64(3) TN_ARRAYS64(4) TN_ARRAYS64(5) TN_ARRAYS64(6) TN_ARRAYS64(7)

uint table(uint i) { return AT32(7, i); }

// ---- Floats of 16 bits, rounded to nearest even -------------------------------------------------------------------------

bool is_nan_bits(uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

float from_half(uint h) {
  const uint sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return uintBitsToFloat(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  if (rest < 0x400u) return uintBitsToFloat(sign | floatBitsToUint(float(rest) * 5.9604644775390625e-8));
  return uintBitsToFloat(sign | ((rest << 13) + 0x38000000u));
}

uint to_half(float x) {
  const uint all = floatBitsToUint(x), sign = (all >> 16) & 0x8000u, bits = all & 0x7fffffffu;
  if (bits > 0x7f800000u) return sign | 0x7e00u;
  if (bits >= 0x47800000u) return sign | 0x7c00u;
  if (bits < 0x38800000u) return sign | uint(roundEven(uintBitsToFloat(bits) * 16777216.0));
  return sign | ((bits + 0xfffu + ((bits >> 13) & 1u) - 0x38000000u) >> 13);
}

float from_bfloat(uint b) { return uintBitsToFloat(b << 16); }

uint to_bfloat(float x) {
  const uint bits = floatBitsToUint(x);
  if (is_nan_bits(bits)) return (bits >> 16) | 0x40u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

// ---- Elements -----------------------------------------------------------------------------------------------------------

#if defined(TN_F32)
#define TN_LOAD(k)                                    \
  if (dtype == DT_F32) return uintBitsToFloat(AT32(k, i)); \
  if (dtype == DT_F16) return from_half(uint(AT16(k, i))); \
  return from_bfloat(uint(AT16(k, i)));
#define TN_STORE(k)                                                     \
  if (dtype == DT_F32) AT32(k, i) = floatBitsToUint(x);                 \
  else if (dtype == DT_F16) AT16(k, i) = uint16_t(to_half(x));          \
  else if (dtype == DT_BF16) AT16(k, i) = uint16_t(to_bfloat(x));       \
  else if (dtype == DT_BOOL) AT8(k, i) = uint8_t(x != 0.0 ? 1u : 0u);
#elif defined(TN_F64)
#define TN_LOAD(k)                                                   \
  if (dtype == DT_F32) return double(uintBitsToFloat(AT32(k, i)));   \
  return packDouble2x32(unpackUint2x32(uint64_t(AT64(k, i))));
#define TN_STORE(k)                                                          \
  if (dtype == DT_F64) AT64(k, i) = int64_t(packUint2x32(unpackDouble2x32(x))); \
  else if (dtype == DT_F32) AT32(k, i) = floatBitsToUint(float(x));          \
  else if (dtype == DT_BOOL) AT8(k, i) = uint8_t(x != 0.0 ? 1u : 0u);
#else
#ifdef TN_I64
#define TN_LOAD_LONG(k)                                     \
  if (dtype == DT_I64) return AT64(k, i);                   \
  if (dtype == DT_U32) return C(AT32(k, i));
#define TN_STORE_LONG(k)                                    \
  if (dtype == DT_I64) AT64(k, i) = x; else
#define TN_LOW(x) uint(x & 0xffffffffl)
#else
#define TN_LOAD_LONG(k)
#define TN_STORE_LONG(k)
#define TN_LOW(x) uint(x)
#endif
#define TN_LOAD(k)                                                                     \
  TN_LOAD_LONG(k)                                                                      \
  if (dtype == DT_I32) return C(int(AT32(k, i)));                                      \
  if (dtype == DT_U16) return C(uint(AT16(k, i)));                                     \
  if (dtype == DT_I16) return C(bitfieldExtract(int(uint(AT16(k, i))), 0, 16));        \
  if (dtype == DT_I8) return C(bitfieldExtract(int(uint(AT8(k, i))), 0, 8));           \
  return C(uint(AT8(k, i)));
#define TN_STORE(k)                                                                    \
  TN_STORE_LONG(k)                                                                     \
  if (dtype == DT_I32 || dtype == DT_U32) AT32(k, i) = TN_LOW(x);                      \
  else if (dtype == DT_U16 || dtype == DT_I16) AT16(k, i) = uint16_t(TN_LOW(x) & 0xffffu); \
  else if (dtype == DT_BOOL) AT8(k, i) = uint8_t(x != C(0) ? 1u : 0u);                 \
  else AT8(k, i) = uint8_t(TN_LOW(x) & 0xffu);
#endif

#define TN_SLOT(k)                                        \
  C load##k(uint dtype, uint i) { TN_LOAD(k) }            \
  void store##k(uint dtype, uint i, C x) { TN_STORE(k) }  \
  bool load_bool##k(uint i) { return uint(AT8(k, i)) != 0u; } \
  void store_bool##k(uint i, bool x) { AT8(k, i) = uint8_t(x ? 1u : 0u); } \
  int load_index##k(uint dtype, uint i) { return int(AT32(k, dtype == DT_I64 ? 2u * i : i)); }
TN_SLOT(0) TN_SLOT(1) TN_SLOT(2) TN_SLOT(3) TN_SLOT(4) TN_SLOT(5) TN_SLOT(6)

#ifdef TN_F64
bool is_nan(double x) { return (packUint2x32(unpackDouble2x32(x)) & 0x7ffffffffffffffful) > 0x7ff0000000000000ul; }
bool is_inf(double x) { return (packUint2x32(unpackDouble2x32(x)) & 0x7ffffffffffffffful) == 0x7ff0000000000000ul; }
#elif defined(TN_F32)
// Tests the bits, because a driver may assume that isnan() is never true.
bool is_nan(float x) { return is_nan_bits(floatBitsToUint(x)); }
bool is_inf(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }
#else
bool is_nan(C x) { return false; }
bool is_inf(C x) { return false; }
#endif
