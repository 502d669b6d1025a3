#version 460
// Resampling: along each dimension an output is a weighted sum of up to four inputs, at positions that are fractions of integers.
// CODE: 0 forward, 1 the gradient, a sum for each input. Slots: out, x (1: gx, g). Word: results. Table: sizes of x, of out.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint DTYPE = 11;
layout(constant_id = 3) const uint MODE = 0;  // inputs for an output along a dimension: 1 nearest, 2 linear, 4 cubic
layout(constant_id = 4) const uint ALIGN = 0;

#define IN(d) int(table(d))
#define OUT(d) int(table(3 + (d)))

// The first input for an output, and the fraction that remains.
int base_of(uint d, int o, out C t) {
  const int n = IN(d), m = OUT(d);
  t = C(0);
  if (MODE == 1) return min(n - 1, o * n / m);
  int above = (2 * o + 1) * n - m, below = 2 * m;
  if (ALIGN != 0) {
    above = m > 1 ? o * (n - 1) : 0;
    below = max(m - 1, 1);
  }
  if (MODE == 2) above = max(above, 0);
  const int base = above >= 0 ? above / below : -((below - 1 - above) / below);
  t = m_div(C(above - base * below), C(below));
  return base;
}

// Keys' cubic convolution with a = -3/4.
C near(C x) { return (C(1.25) * x - C(2.25)) * x * x + C(1); }
C far(C x) { return ((C(-0.75) * x + C(3.75)) * x - C(6)) * x + C(3); }
C weight(uint k, C t) {
  if (MODE == 1) return C(1);
  if (MODE == 2) return k == 0u ? C(1) - t : t;
  return k == 0u ? far(t + C(1)) : k == 1u ? near(t) : k == 2u ? near(C(1) - t) : far(C(2) - t);
}
int tap(uint d, int base, uint k) { return clamp(MODE == 4 ? base - 1 + int(k) : base + int(k), 0, IN(d) - 1); }
uint taps(uint d) { return IN(d) == 1 && OUT(d) == 1 ? 1u : MODE; }
C lone(uint d, uint k, C t) { return taps(d) == 1u ? C(1) : weight(k, t); }
int place(uint d, int base, uint k) { return taps(d) == 1u && MODE != 1u ? 0 : tap(d, base, k); }

void forward(uint i, ivec3 at, uint first) {
  C tz, ty, tx;
  const int z = base_of(0, at.x, tz), y = base_of(1, at.y, ty), x = base_of(2, at.z, tx);
  C sum = C(0);
  for (uint a = 0; a < taps(0); ++a)
    for (uint b = 0; b < taps(1); ++b) {
      const C w = lone(0, a, tz) * lone(1, b, ty);
      const uint line = first + uint((place(0, z, a) * IN(1) + place(1, y, b)) * IN(2));
      C row = C(0);
      for (uint c = 0; c < taps(2); ++c) row += lone(2, c, tx) * load1(DTYPE, line + uint(place(2, x, c)));
      sum += w * row;
    }
  store0(DTYPE, i, sum);
}

// Outputs that may read an input. Some do not, and their weight is 0.
ivec2 outputs_of(uint d, int i) {
  const int n = IN(d), m = OUT(d);
  if (MODE == 1) return ivec2((i * m + n - 1) / n, ((i + 1) * m + n - 1) / n - 1);
  const int reach = MODE == 4 ? 3 : 2;
  int low = (2 * (i - reach) + 1) * m / (2 * n) - 2, high = (2 * (i + reach) + 1) * m / (2 * n) + 2;
  if (ALIGN != 0 && n > 1) {
    low = (i - reach) * (m - 1) / (n - 1) - 2;
    high = (i + reach) * (m - 1) / (n - 1) + 2;
  }
  if (i == 0 || n == 1) low = 0;
  if (i == n - 1 || n == 1) high = m - 1;
  return clamp(ivec2(low, high), 0, m - 1);
}

// The weight with which an output reads an input.
C share(uint d, int o, int i) {
  C t, sum = C(0);
  const int base = base_of(d, o, t);
  for (uint k = 0; k < taps(d); ++k)
    if (place(d, base, k) == i) sum += lone(d, k, t);
  return sum;
}

void backward(uint i, ivec3 at, uint first) {
  const ivec2 z = outputs_of(0, at.x), y = outputs_of(1, at.y), x = outputs_of(2, at.z);
  C sum = C(0);
  for (int a = z.x; a <= z.y; ++a) {
    const C wz = share(0, a, at.x);
    if (wz == C(0)) continue;
    for (int b = y.x; b <= y.y; ++b) {
      const C wy = share(1, b, at.y);
      if (wy == C(0)) continue;
      C row = C(0);
      for (int c = x.x; c <= x.y; ++c) {
        const C wx = share(2, c, at.z);
        if (wx != C(0)) row += wx * load1(DTYPE, first + uint((a * OUT(1) + b) * OUT(2) + c));
      }
      sum += wz * wy * row;
    }
  }
  store0(DTYPE, i, sum);
}

void main() {
  const uint in_plane = uint(IN(0) * IN(1) * IN(2)), out_plane = uint(OUT(0) * OUT(1) * OUT(2));
  const uint mine = CODE == 0 ? out_plane : in_plane, other = CODE == 0 ? in_plane : out_plane;
  const uint y = uint(CODE == 0 ? OUT(1) : IN(1)), x = uint(CODE == 0 ? OUT(2) : IN(2));
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    const uint p = i % mine;
    const ivec3 at = ivec3(p / x / y, p / x % y, p % x);
    if (CODE == 0)
      forward(i, at, i / mine * other);
    else
      backward(i, at, i / mine * other);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
