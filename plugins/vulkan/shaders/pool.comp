#version 460
// Pooling. CODE: 0 maximum, 1 average, 2 average with a workgroup for each output, 3 the gradient of an average, a sum for each input.
// Slots: out (3: gx), x (3: g), indices of maxima. Words: results, whether padding counts for averages. Table: in, out, kernel, stride,
// padding, dilation, three each.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#ifdef TN_FLOATING
#include "math.glsl"
#endif
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint DTYPE = 11;
layout(constant_id = 3) const uint ADAPTIVE = 0;

#define IN(d) int(table(d))
#define OUT(d) int(table(3 + (d)))
#define KERNEL(d) int(table(6 + (d)))
#define STRIDE(d) int(table(9 + (d)))
#define PADDING(d) int(table(12 + (d)))
#define DILATION(d) int(table(15 + (d)))

// The inputs begin, begin + dilation, … before end that an output reads along a dimension; `size` is the count for averages.
struct Window { int begin, end, size; };

Window window(uint d, int o) {
  if (ADAPTIVE != 0) {
    const int begin = o * IN(d) / OUT(d), end = ((o + 1) * IN(d) + OUT(d) - 1) / OUT(d);
    return Window(begin, end, end - begin);
  }
  const int start = o * STRIDE(d) - PADDING(d), reach = start + DILATION(d) * (KERNEL(d) - 1) + 1;
  const int begin = start >= 0 ? start : start + (DILATION(d) - 1 - start) / DILATION(d) * DILATION(d);
  const int end = min(reach, IN(d));
  return Window(begin, end, push.word[1] != 0u ? min(reach, IN(d) + PADDING(d)) - start : end - begin);
}

// The outputs whose windows contain an input.
ivec2 outputs_of(uint d, int i) {
  if (ADAPTIVE != 0) return ivec2(i * OUT(d) / IN(d), ((i + 1) * OUT(d) - 1) / IN(d));
  const int at = i + PADDING(d), first = at - KERNEL(d) + 1;
  return ivec2(first <= 0 ? 0 : (first + STRIDE(d) - 1) / STRIDE(d), min(OUT(d) - 1, at / STRIDE(d)));
}

ivec3 place(uint i, int y, int x) { return ivec3(i / uint(x) / uint(y), i / uint(x) % uint(y), i % uint(x)); }

C lowest() {
#ifdef TN_FLOATING
  return C(uintBitsToFloat(0xff800000u));
#else
  if (DTYPE == DT_I8) return C(-128);
  if (DTYPE == DT_I16) return C(-32768);
  if (DTYPE == DT_I32) return C(int(0x80000000u));
#ifdef TN_I64
  if (DTYPE == DT_I64) return C(1) << 63;
#endif
  return C(0);
#endif
}

// A NaN wins; of equal values the first.
void maximum(uint i, uint first, Window z, Window y, Window x) {
  int best_at = clamp((z.begin * IN(1) + y.begin) * IN(2) + x.begin, 0, max(IN(0) * IN(1) * IN(2) - 1, 0));
  C best = lowest();
  for (int a = z.begin; a < z.end; a += DILATION(0))
    for (int b = y.begin; b < y.end; b += DILATION(1))
      for (int c = x.begin; c < x.end; c += DILATION(2)) {
        const int at = (a * IN(1) + b) * IN(2) + c;
        const C value = load1(DTYPE, first + uint(at));
        if (value > best || is_nan(value)) {
          best = value;
          best_at = at;
        }
      }
  store0(DTYPE, i, best);
  AT32(2, 2 * i) = uint(best_at);
  AT32(2, 2 * i + 1) = 0u;
}

#ifdef TN_FLOATING
shared C parts[gl_WorkGroupSize.x];

C share(C sum, int z, int y, int x) { return m_div(sum, C(max(1, z * y * x))); }

void average(uint i, uint first, Window z, Window y, Window x) {
  C sum = C(0);
  for (int a = z.begin; a < z.end; ++a)
    for (int b = y.begin; b < y.end; ++b)
      for (int c = x.begin; c < x.end; ++c) sum += load1(DTYPE, first + uint((a * IN(1) + b) * IN(2) + c));
  store0(DTYPE, i, share(sum, z.size, y.size, x.size));
}

void average_together(uint i, uint first, Window z, Window y, Window x) {
  const uint t = gl_LocalInvocationID.x;
  const int ny = max(0, y.end - y.begin), nx = max(0, x.end - x.begin);
  const uint count = uint(max(0, z.end - z.begin) * ny * nx);
  C sum = C(0);
  for (uint e = t; e < count; e += gl_WorkGroupSize.x) {
    const ivec3 at = place(e, ny, nx) + ivec3(z.begin, y.begin, x.begin);
    sum += load1(DTYPE, first + uint((at.x * IN(1) + at.y) * IN(2) + at.z));
  }
  parts[t] = sum;
  barrier();
  for (uint n = gl_WorkGroupSize.x / 2; n > 0; n /= 2) {
    if (t < n) parts[t] += parts[t + n];
    barrier();
  }
  if (t == 0) store0(DTYPE, i, share(parts[0], z.size, y.size, x.size));
  barrier();
}

void average_backward(uint i) {
  const uint plane = uint(IN(0) * IN(1) * IN(2)), first = i / plane * uint(OUT(0) * OUT(1) * OUT(2));
  const ivec3 at = place(i % plane, IN(1), IN(2));
  const ivec2 z = outputs_of(0, at.x), y = outputs_of(1, at.y), x = outputs_of(2, at.z);
  C sum = C(0);
  for (int a = z.x; a <= z.y; ++a)
    for (int b = y.x; b <= y.y; ++b)
      for (int c = x.x; c <= x.y; ++c)
        sum += share(load1(DTYPE, first + uint((a * OUT(1) + b) * OUT(2) + c)), window(0, a).size, window(1, b).size,
                     window(2, c).size);
  store0(DTYPE, i, sum);
}
#endif

void forward(uint i) {
  const uint plane = uint(OUT(0) * OUT(1) * OUT(2)), first = i / plane * uint(IN(0) * IN(1) * IN(2));
  const ivec3 at = place(i % plane, OUT(1), OUT(2));
  const Window z = window(0, at.x), y = window(1, at.y), x = window(2, at.z);
  if (CODE == 0) maximum(i, first, z, y, x);
#ifdef TN_FLOATING
  if (CODE == 1) average(i, first, z, y, x);
  if (CODE == 2) average_together(i, first, z, y, x);
#endif
}

void main() {
  const bool together = CODE == 2;
  const uint step = together ? gl_NumWorkGroups.x : gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  uint i = together ? gl_WorkGroupID.x : gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
#ifdef TN_FLOATING
    if (CODE == 3) {
      average_backward(i);
      continue;
    }
#endif
    forward(i);
  } while ((i += step) < push.word[0]);
}
