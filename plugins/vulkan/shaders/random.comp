#version 460
// Random numbers by philox.glsl, a block an invocation. CODE: the order of Op in ops/random.cpp. Words: elements, seed, offset; for
// uniform, normal, dropout_mask two reals; for randint low and the range; dropout_mask's threshold.
// Computes in F32, F64, I64; one op of many by a constant.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint OUT = 11;
layout(constant_id = 3) const uint IN1 = 11;
#include "philox.glsl"

#ifdef TN_FLOATING
#include "math.glsl"
#include "fused.glsl"

#ifdef TN_F64
const uint kDraws = 2;  // numbers in a block
C param(uint k) { return packDouble2x32(uvec2(push.word[5u + 2u * k], push.word[6u + 2u * k])); }
C unit_of(uvec4 b, uint j) { return double((packUint2x32(uvec2(b[2 * j], b[2 * j + 1])) >> 11)) * 1.1102230246251565404e-16lf; }
C rounded(C x) { return x; }
#else
const uint kDraws = 4;
C param(uint k) { return real_word(5u + 2u * k); }
// As many bits as the dtype represents exactly.
C unit_of(uvec4 b, uint j) {
  if (OUT == DT_F16) return float(b[j] >> 21) * 4.8828125e-4;
  if (OUT == DT_BF16) return float(b[j] >> 24) * 3.90625e-3;
  return float(b[j] >> 8) * 5.9604644775390625e-8;
}
C rounded(C x) { return OUT == DT_F16 ? from_half(to_half(x)) : OUT == DT_BF16 ? from_bfloat(to_bfloat(x)) : x; }
#endif

// Maps to [low, high); an empty range gives low. Rounding to a half type may reach the end again.
C uniform_of(uvec4 b, uint j) {
  const C low = param(0), high = param(1), range = high - low, u = unit_of(b, j);
  if (low == C(0.0) && range == C(1.0)) return u;
  const C x = fused(u, range, low);
  return x < high && rounded(x) < high ? x : low;
}

// Box-Muller on draws 2k and 2k + 1: the radius times cosine and sine.
#ifdef TN_F64
C normal_of(uvec4 b, uint j) {
  const C u = double((packUint2x32(b.xy) >> 11) + 1ul) * 1.1102230246251565404e-16lf;
  const C angle = 6.283185307179586476925lf * unit_of(b, 1), radius = m_sqrt(-2.0lf * m_log(u));
  return fma(radius * (j == 0 ? m_cos(angle) : m_sin(angle)), param(1), param(0));
}
#else
C normal_of(uvec4 b, uint j) {
  const uint first = (b[j & 2u] >> 8) + 1u, second = b[(j & 2u) + 1u] >> 8;
  const float radius = m_sqrt(-2.0 * m_log(float(first) * 5.9604644775390625e-8));
  // Subtracts the nearest quarter turn exactly.
  const uint quarter = (second + (1u << 21)) >> 22;
  const float r = float(int(second) - int(quarter << 22)) * 3.74507027e-7;  // pi / 2 / 2^22
  const bool cosine = ((quarter ^ j) & 1u) == 0u;
  const float y = cosine ? m_cos_reduced(r) : m_sin_reduced(r);
  const bool negative = (j & 1u) == 0u ? ((quarter + 1u) & 2u) != 0u : (quarter & 2u) != 0u;
  return fma(radius * (negative ? -y : y), param(1), param(0));
}
#endif

C number_of(uvec4 b, uint j, uint i) {
  switch (CODE) {
    case 0: return uniform_of(b, j);
    case 1: return normal_of(b, j);
    case 3: {
      const C p = load1(IN1, i);
      return C(!is_nan(p) && C(b[j] >> 8) < C(16777216.0) * p ? 1.0 : 0.0);
    }
  }
  return (b[j] >> 8) < push.word[9] ? C(0.0) : param(0);  // dropout_mask
}
uint draws() { return CODE >= 3 ? 4u : kDraws; }  // 32-bit numbers

#else
// Upper half of the 128-bit product, without a 128-bit type.
uint64_t multiply_high(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xfffffffful, a1 = a >> 32, b0 = b & 0xfffffffful, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  return a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & 0xfffffffful)) >> 32);
}
// randint: low + the upper 64 bits of draw x range.
C number_of(uvec4 b, uint j, uint i) {
  const uint64_t low = packUint2x32(uvec2(push.word[5], push.word[6])), range = packUint2x32(uvec2(push.word[7], push.word[8]));
  return C(low + multiply_high(packUint2x32(uvec2(b[2 * j], b[2 * j + 1])), range));
}
uint draws() { return 2u; }
#endif

void main() {
  const uint each = draws(), n = push.word[0], blocks = n / each + (n % each != 0u ? 1u : 0u);
  uint k = gl_GlobalInvocationID.x;
  if (k < blocks) do {
    const uvec4 b = block_at(k);
    [[unroll]] for (uint j = 0; j < 4; ++j)  // both numbers of a pair come from the same draws
      if (j < each && each * k + j < n) store0(OUT, each * k + j, number_of(b, j, each * k + j));
  } while ((k += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < blocks);
}
