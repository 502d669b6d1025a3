#version 460
// pad, and its gradient as a sum for each input. CODE: 0 forward, 1 gradient; MODE: 0 constant, 1 reflect, 2 replicate, 3 circular.
// Slots: out, x (1: gx, g). Words: results, dimensions, the constant (low, high). Table: sizes of the small side, of the large one,
// places before.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint DTYPE = 11;
layout(constant_id = 3) const uint MODE = 0;
const uint MOST_DIMS = 16;

#define NDIM push.word[1]
#define SMALL(d) int(table(d))
#define LARGE(d) int(table(NDIM + (d)))
#define BEFORE(d) int(table(2 * NDIM + (d)))

C constant() {
#if defined(TN_F64)
  return packDouble2x32(uvec2(push.word[2], push.word[3]));
#elif defined(TN_F32)
  return uintBitsToFloat(push.word[2]);
#elif defined(TN_I64)
  return packInt2x32(ivec2(int(push.word[2]), int(push.word[3])));
#else
  return int(push.word[2]);
#endif
}

// The position on the small side for a position on the large one; -1: the constant.
int source(uint d, int o) {
  const int n = SMALL(d), i = o - BEFORE(d);
  if (i >= 0 && i < n) return i;
  if (MODE == 1) return i < 0 ? -i : 2 * n - 2 - i;
  if (MODE == 2) return i < 0 ? 0 : n - 1;
  if (MODE == 3) return i < 0 ? i + n : i - n;
  return -1;
}

void forward(uint i) {
  uint rest = i, from = 0, step = 1;
  for (uint d = NDIM; d-- > 0;) {
    const int at = source(d, int(rest % uint(LARGE(d))));
    rest /= uint(LARGE(d));
    if (at < 0) {
      store0(DTYPE, i, constant());
      return;
    }
    from += uint(at) * step;
    step *= uint(SMALL(d));
  }
  store0(DTYPE, i, load1(DTYPE, from));
}

// The positions on the large side that show position i: itself, and a stretch on each side.
struct Shown { int own, left, lefts, right, rights; };

Shown shown(uint d, int i) {
  const int n = SMALL(d), m = LARGE(d), before = BEFORE(d), own = i + before;
  Shown s = Shown(own >= 0 && own < m ? own : -1, 0, 0, 0, 0);
  if (MODE == 1) {
    s.left = before - i;
    s.lefts = i > 0 && s.left >= 0 ? 1 : 0;
    s.right = before + 2 * n - 2 - i;
    s.rights = i < n - 1 && s.right < m ? 1 : 0;
  } else if (MODE == 2) {
    s.lefts = i == 0 ? before : 0;
    s.right = before + n;
    s.rights = i == n - 1 ? m - s.right : 0;
  } else if (MODE == 3) {
    s.left = own - n;
    s.lefts = s.left >= 0 ? 1 : 0;
    s.right = own + n;
    s.rights = s.right < m ? 1 : 0;
  }
  return s;
}

void backward(uint i) {
  Shown all[MOST_DIMS];
  uint rest = i, count = 1;
  for (uint d = NDIM; d-- > 0;) {
    all[d] = shown(d, int(rest % uint(SMALL(d))));
    rest /= uint(SMALL(d));
    count *= uint((all[d].own >= 0 ? 1 : 0) + all[d].lefts + all[d].rights);
  }
  C sum = C(0);
  for (uint e = 0; e < count; ++e) {
    uint left = e, from = 0, step = 1;
    for (uint d = NDIM; d-- > 0;) {
      const Shown s = all[d];
      const int own = s.own >= 0 ? 1 : 0, n = own + s.lefts + s.rights;
      int k = int(left % uint(n));
      left /= uint(n);
      const int at = k < s.lefts ? s.left + k : k < s.lefts + own ? s.own : s.right + k - s.lefts - own;
      from += uint(at) * step;
      step *= uint(LARGE(d));
    }
    sum += load1(DTYPE, from);
  }
  store0(DTYPE, i, sum);
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    if (CODE == 0)
      forward(i);
    else
      backward(i);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
