#version 460
// Norms over lists of tensors, and their scaling. CODE 0: sums of one tensor, one a workgroup, into partial sums; 1: all partial
// sums into the norm; 2: x times a factor. KIND: 2, 1, 0 for p = 2, 1, infinity, 3 for any other p.
// Computes in F32, F64; one op of many by a constant.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "order_bits.glsl"
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint OUT = 11;
layout(constant_id = 3) const uint IN1 = 11;
layout(constant_id = 4) const uint KIND = 2;

#ifdef TN_F64
const uint kSum = DT_F64;  // the dtype of partial sums
C param(uint k) { return packDouble2x32(uvec2(push.word[k], push.word[k + 1u])); }
C load_any(uint dtype, uint i) {
  if (dtype == DT_F16) return C(from_half(uint(AT16(1, i))));
  if (dtype == DT_BF16) return C(from_bfloat(uint(AT16(1, i))));
  return load1(dtype, i);
}
#else
const uint kSum = DT_F32;
C param(uint k) { return real_word(k); }
C load_any(uint dtype, uint i) { return load1(dtype, i); }
#endif

shared C parts[256];

C term(C x) {
  if (KIND == 2) return x * x;
  return KIND == 3 ? m_pow(m_abs(x), param(2)) : m_abs(x);
}
C joined(C a, C b) {
  if (KIND != 0) return a + b;
  return is_nan(a) || (!is_nan(b) && order_of(a) > order_of(b)) ? a : b;  // NaN wins
}

C over_group(C own) {
  const uint at = gl_LocalInvocationIndex;
  parts[at] = own;
  barrier();
  for (uint half_size = gl_WorkGroupSize.x / 2u; half_size > 0u; half_size /= 2u) {
    if (at < half_size) parts[at] = joined(parts[at], parts[at + half_size]);
    barrier();
  }
  return parts[0];
}

void main() {
  const uint n = push.word[0], step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  if (CODE == 2) {
    const C factor = load2(IN1, 0);
    uint i = gl_GlobalInvocationID.x;
    if (i < n) do store0(OUT, i, load1(OUT, i) * factor); while ((i += step) < n);
  } else {
    C sum = C(0.0);
    uint i = gl_GlobalInvocationID.x;
    if (i < n) do {
      const C x = CODE == 0 ? term(load_any(IN1, i)) : load1(kSum, i);
      sum = joined(sum, x);
    } while ((i += step) < n);
    sum = over_group(sum);
    if (gl_LocalInvocationIndex == 0u) {
      if (CODE == 0) {
        store0(kSum, push.word[1] + gl_WorkGroupID.x, sum);
      } else {
        if (KIND == 2) sum = m_sqrt(sum);
        if (KIND == 3) sum = m_pow(sum, m_div(C(1.0), param(2)));
        store0(OUT, 0, sum);
      }
    }
  }
}
