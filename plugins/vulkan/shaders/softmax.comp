#version 460
// softmax and log_softmax of rows, and their backwards, by CODE: the order of Op in ops/softmax.cpp.
// If one workgroup for a row is too few, the reductions along rows were computed before (GIVEN) and are in slots 3 and 4.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#ifdef TN_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#include "tenon.glsl"
#include "math.glsl"
#include "limits.glsl"
#include "rows.glsl"
TN_QUAD_LOAD(2)
TN_ITEMS(1)
TN_ITEMS(2)
layout(constant_id = 4) const uint GIVEN = 0;
const uint SOFTMAX = 0, LOG_SOFTMAX = 1, SOFTMAX_BACKWARD = 2, LOG_SOFTMAX_BACKWARD = 3;
const bool BACKWARD = CODE >= SOFTMAX_BACKWARD;

C shifted(C x, C top) { return x == C_LEAST && top != C_LEAST ? C(0) : m_exp(x - top); }

// y·(g - Σ g·y); g - exp(y)·Σ g
C backward(C g, C y, C sum) { return CODE == SOFTMAX_BACKWARD ? y * (g - sum) : g - m_exp(y) * sum; }

// `last`: log Σ or 1 / Σ.
C forward(C x, C top, C last) { return CODE == LOG_SOFTMAX ? (x - top) - last : shifted(x, top) * last; }
C last_step(C sum) { return CODE == LOG_SOFTMAX ? m_log(sum) : C(1) / sum; }

void forward_row(uint begin, bool here) {
  C v[ITEMS];
  C top = C_LEAST, sum = C(0);
  FOR_BLOCKS(first, here)
    load_items1(begin, first, C_LEAST, v);
    C high = top;
    FOR_ITEMS(k) high = v[k] > high ? v[k] : high;
    if (KEEP == 0) {
      if (high > top) sum *= shifted(top, high);
      FOR_ITEMS(k) sum += v[k] == C_LEAST ? C(0) : m_exp(v[k] - high);
    }
    top = high;
  NEXT_BLOCK(first)
  const C most = row_max(top);
  if (KEEP == 0) {
    sum *= shifted(top, most);
  } else {
    FOR_ITEMS(k) {
      const C e = shifted(v[k], most);
      if (CODE == SOFTMAX) v[k] = e;
      sum += FULL || is_kept(k) ? e : C(0);
    }
  }
  const C last = last_step(row_sum(sum));
  FOR_BLOCKS(first, here)
    if (KEEP == 0) load_items1(begin, first, C_LEAST, v);
    FOR_ITEMS(k) v[k] = KEEP != 0 && CODE == SOFTMAX ? v[k] * last : forward(v[k], most, last);
    store_items(begin, first, v);
  NEXT_BLOCK(first)
}

void backward_row(uint begin, bool here) {
  C g[ITEMS], y[ITEMS];
  C sum = C(0);
  FOR_BLOCKS(first, here)
    load_items1(begin, first, C(0), g);
    if (KEEP != 0 || CODE == SOFTMAX_BACKWARD) load_items2(begin, first, C(0), y);
    FOR_ITEMS(k) sum += CODE == SOFTMAX_BACKWARD ? g[k] * y[k] : g[k];
  NEXT_BLOCK(first)
  sum = row_sum(sum);
  FOR_BLOCKS(first, here)
    if (KEEP == 0) load_items1(begin, first, C(0), g);
    if (KEEP == 0) load_items2(begin, first, C(0), y);
    FOR_ITEMS(k) g[k] = backward(g[k], y[k], sum);
    store_items(begin, first, g);
  NEXT_BLOCK(first)
}

void main() {
  if (GIVEN != 0) {
    const uint all = push.word[ROWS] * push.word[N];
    uint i = gl_GlobalInvocationID.x;
    if (i < all) do {
      const uint row = i / push.word[N];
      if (BACKWARD) store0(IN, i, backward(load1(IN, i), load2(IN, i), load3(DT_C, row)));
      else store0(IN, i, forward(load1(IN, i), load3(DT_C, row), last_step(load4(DT_C, row))));
    } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < all);
  } else {
    FOR_ROWS(row)
      const bool here = row < push.word[ROWS];
      if (BACKWARD) backward_row(row * push.word[N], here);
      else forward_row(row * push.word[N], here);
    NEXT_ROW
  }
}
