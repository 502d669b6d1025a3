#version 460
// softmax and log_softmax of rows, and their backwards, by CODE: the order of Op in ops/softmax.cpp.
// Where one workgroup to a row is too few, what runs along a row was found before (GIVEN) and lies in slots 3 and 4.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "limits.glsl"
#include "rows.glsl"
layout(constant_id = 4) const uint GIVEN = 0;
const uint SOFTMAX = 0, LOG_SOFTMAX = 1, SOFTMAX_BACKWARD = 2, LOG_SOFTMAX_BACKWARD = 3;
const bool BACKWARD = CODE >= SOFTMAX_BACKWARD;

C shifted(C x, C top) { return x == C_LEAST && top != C_LEAST ? C(0) : m_exp(x - top); }

// y·(g - Σ g·y); g - exp(y)·Σ g
C backward(C g, C y, C sum) { return CODE == SOFTMAX_BACKWARD ? y * (g - sum) : g - m_exp(y) * sum; }

void finish(uint at, C x, C top, C sum) {
  store0(IN, at, CODE == LOG_SOFTMAX ? (x - top) - sum : shifted(x, top) * sum);
}
// What `finish` takes: log Σ or 1 / Σ.
C last_step(C sum) { return CODE == LOG_SOFTMAX ? m_log(sum) : C(1) / sum; }

void forward_row(uint begin, bool here) {
  C v[ITEMS];
  C top = C_LEAST, sum = C(0);
  FOR_BLOCKS(first) {
    if (!here) break;
    C high = top;
    FOR_ITEMS(k) {
      v[k] = PLACE(first, k) < push.word[N] ? load1(IN, begin + PLACE(first, k)) : C_LEAST;
      high = v[k] > high ? v[k] : high;
    }
    if (KEEP == 0) {
      if (high > top) sum *= shifted(top, high);
      FOR_ITEMS(k) sum += v[k] == C_LEAST ? C(0) : m_exp(v[k] - high);
    }
    top = high;
  }
  const C most = row_max(top);
  if (KEEP == 0) {
    sum *= shifted(top, most);
  } else {
    FOR_ITEMS(k) {
      if (here && PLACE(lane(), k) < push.word[N]) {
        const C e = shifted(v[k], most);
        if (CODE == SOFTMAX) v[k] = e;
        sum += e;
      }
    }
  }
  const C last = last_step(row_sum(sum));
  FOR_BLOCKS(first) {
    if (!here) break;
    FOR_ITEMS(k) {
      const uint at = begin + PLACE(first, k);
      if (PLACE(first, k) >= push.word[N]) continue;
      if (KEEP != 0 && CODE == SOFTMAX) store0(IN, at, v[k] * last);
      else finish(at, KEEP == 0 ? load1(IN, at) : v[k], most, last);
    }
  }
}

void backward_row(uint begin, bool here) {
  C g[ITEMS], y[ITEMS];
  C sum = C(0);
  FOR_BLOCKS(first) {
    if (!here) break;
    FOR_ITEMS(k) {
      if (PLACE(first, k) < push.word[N]) {
        g[k] = load1(IN, begin + PLACE(first, k));
        if (KEEP != 0 || CODE == SOFTMAX_BACKWARD) y[k] = load2(IN, begin + PLACE(first, k));
        sum += CODE == SOFTMAX_BACKWARD ? g[k] * y[k] : g[k];
      }
    }
  }
  sum = row_sum(sum);
  FOR_BLOCKS(first) {
    if (!here) break;
    FOR_ITEMS(k) {
      const uint at = begin + PLACE(first, k);
      if (PLACE(first, k) < push.word[N])
        store0(IN, at, KEEP == 0 ? backward(load1(IN, at), load2(IN, at), sum) : backward(g[k], y[k], sum));
    }
  }
}

void main() {
  if (GIVEN != 0) {
    const uint all = push.word[ROWS] * push.word[N];
    for (uint i = gl_GlobalInvocationID.x; i < all; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
      const uint row = i / push.word[N];
      if (BACKWARD) store0(IN, i, backward(load1(IN, i), load2(IN, i), load3(DT_C, row)));
      else finish(i, load1(IN, i), load3(DT_C, row), last_step(load4(DT_C, row)));
    }
    return;
  }
  FOR_ROWS(row, work) {
    const bool here = row < push.word[ROWS];
    if (BACKWARD) backward_row(row * push.word[N], here);
    else forward_row(row * push.word[N], here);
  }
}
