#version 460
// The gradient for rows of logits: g·weight·(exp(x − log Σ exp(x)) − 1 at the class), 0 in rows that do not count.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "limits.glsl"
layout(constant_id = 1) const uint IN = 11;
layout(constant_id = 2) const uint OF_ROWS = 11;  // the dtype of per-row values
const uint ALL = 0, CLASSES = 1, G_STEP = 2;  // 0: g is one number

void main() {
  const uint classes = push.word[CLASSES];
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[ALL]) do {
    const uint row = i / classes;
    const C weight = load4(OF_ROWS, row);
    C gx = C(0);
    if (weight != C(0)) {
      const C p = m_exp(load1(IN, i) - load5(OF_ROWS, row));
      gx = load2(OF_ROWS, row * push.word[G_STEP]) * weight * (AT32(3, 2 * row) == i - row * classes ? p - C(1) : p);
    }
    store0(IN, i, gx);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[ALL]);
}
