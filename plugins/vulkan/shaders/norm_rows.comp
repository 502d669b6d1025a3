#version 460
// layer_norm and rms_norm of rows and the gradient of their x, by CODE, the order of Op in ops/layer_norm.cpp. With ĝ = g·weight
// and x̂ = (x - mean)·rstd: gx = rstd·(ĝ - mean(ĝ) - x̂·mean(ĝ·x̂)); rms_norm: without the means of x and ĝ.
// Slots: y, x, mean, rstd, weight, bias; gx, x, mean, rstd, weight, g.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "limits.glsl"
#include "rows.glsl"
layout(constant_id = 4) const uint WEIGHT = 0;  // given
layout(constant_id = 5) const uint BIAS = 0;
const uint LAYER = 0, RMS = 1, LAYER_BACKWARD = 2, RMS_BACKWARD = 3;
const bool CENTRED = CODE == LAYER || CODE == LAYER_BACKWARD, BACKWARD = CODE >= LAYER_BACKWARD;
C eps() {
#ifdef TN_F64
  return packDouble2x32(uvec2(push.word[WORDS + 1], push.word[WORDS + 2]));
#else
  return real_word(WORDS);
#endif
}

C weighted(C x, uint i) { return WEIGHT != 0 ? x * load4(DT_C, i) : x; }

void forward_row(uint row, bool here) {
  const uint n = push.word[N], begin = row * n;
  const C over = C(1) / C(max(n, 1u));
  C v[ITEMS];
  C mean = C(0), square = C(0);
  FOR_BLOCKS(first) {
    if (!here || (KEEP == 0 && !CENTRED)) break;
    FOR_ITEMS(k) {
      v[k] = C(0);
      if (PLACE(first, k) < n) v[k] = load1(IN, begin + PLACE(first, k));
      mean += v[k];
    }
  }
  mean = CENTRED ? row_sum(mean) * over : C(0);
  FOR_BLOCKS(first) {
    if (!here) break;
    FOR_ITEMS(k) {
      if (PLACE(first, k) < n) {
        const C d = (KEEP == 0 ? load1(IN, begin + PLACE(first, k)) : v[k]) - mean;
        square += d * d;
      }
    }
  }
  const C rstd = C(1) / m_sqrt(row_sum(square) * over + eps());
  if (here && lane() == 0) {
    if (CENTRED) store2(DT_C, row, mean);
    store3(DT_C, row, rstd);
  }
  FOR_BLOCKS(first) {
    if (!here) break;
    FOR_ITEMS(k) {
      const uint i = PLACE(first, k);
      if (i < n) {
        const C y = weighted(((KEEP == 0 ? load1(IN, begin + i) : v[k]) - mean) * rstd, i);
        store0(IN, begin + i, BIAS != 0 ? y + load5(DT_C, i) : y);
      }
    }
  }
}

void backward_row(uint row, bool here) {
  const uint n = push.word[N], begin = row * n;
  const C over = C(1) / C(max(n, 1u));
  const C mean = CENTRED && here ? load2(DT_C, row) : C(0), rstd = here ? load3(DT_C, row) : C(0);
  C gs[ITEMS], hats[ITEMS];
  C sum = C(0), dot = C(0);
  FOR_BLOCKS(first) {
    if (!here) break;
    FOR_ITEMS(k) {
      const uint i = PLACE(first, k);
      if (i < n) {
        gs[k] = weighted(load5(IN, begin + i), i);
        hats[k] = (load1(IN, begin + i) - mean) * rstd;
        sum += gs[k];
        dot += gs[k] * hats[k];
      }
    }
  }
  sum = CENTRED ? row_sum(sum) * over : C(0);
  dot = row_sum(dot) * over;
  FOR_BLOCKS(first) {
    if (!here) break;
    FOR_ITEMS(k) {
      const uint i = PLACE(first, k);
      if (i < n) {
        const C g = KEEP == 0 ? weighted(load5(IN, begin + i), i) : gs[k];
        const C hat = KEEP == 0 ? (load1(IN, begin + i) - mean) * rstd : hats[k];
        store0(IN, begin + i, rstd * (g - sum - hat * dot));
      }
    }
  }
}

void main() {
  FOR_ROWS(row, work) {
    if (BACKWARD) backward_row(row, row < push.word[ROWS]);
    else forward_row(row, row < push.word[ROWS]);
  }
}
