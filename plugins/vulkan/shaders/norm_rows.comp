#version 460
// layer_norm and rms_norm of rows and the gradient of their x, by CODE, the order of Op in ops/norm_layer.cpp. With ĝ = g·weight
// and x̂ = (x - mean)·rstd: gx = rstd·(ĝ - mean(ĝ) - x̂·mean(ĝ·x̂)); rms_norm: without the means of x and ĝ.
// Slots: y, x, mean, rstd, weight, bias; gx, x, mean, rstd, weight, g.
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
TN_QUAD_LOAD(5)
TN_ITEMS(1)
TN_ITEMS(5)
layout(constant_id = 4) const uint WEIGHT = 0;  // 1 + its dtype; 0: not given
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

// A lane has the same positions in every row. If it keeps elements, it keeps their parameters from row to row.
C weights[ITEMS], biases[ITEMS];
void load_parameters(uint first) {
  FOR_ITEMS(k)
    if (exists(first, k)) {
      if (WEIGHT != 0) weights[k] = load4(WEIGHT - 1, place(first, k));
      if (BIAS != 0) biases[k] = load5(BIAS - 1, place(first, k));
    }
}
C weighted(C x, uint k) { return WEIGHT != 0 ? x * weights[k] : x; }

void forward_row(uint row, bool here) {
  const uint n = push.word[N], begin = row * n;
  const C over = C(1) / C(max(n, 1u));
  C v[ITEMS];
  C mean = C(0), square = C(0);
  if (KEEP != 0 || CENTRED) {
    FOR_BLOCKS(first, here)
      load_items1(begin, first, C(0), v);
      FOR_ITEMS(k) mean += v[k];
    NEXT_BLOCK(first)
  }
  mean = CENTRED ? row_sum(mean) * over : C(0);
  FOR_BLOCKS(first, here)
    if (KEEP == 0) load_items1(begin, first, C(0), v);
    FOR_ITEMS(k) {
      const C d = v[k] - mean;
      square += exists(first, k) ? d * d : C(0);
    }
  NEXT_BLOCK(first)
  const C rstd = C(1) / m_sqrt(row_sum(square) * over + eps());
  if (here && lane() == 0) {
    if (CENTRED) store2(DT_C, row, mean);
    store3(DT_C, row, rstd);
  }
  FOR_BLOCKS(first, here)
    if (KEEP == 0) load_parameters(first);
    if (KEEP == 0) load_items1(begin, first, C(0), v);
    FOR_ITEMS(k) {
      v[k] = weighted((v[k] - mean) * rstd, k);
      if (BIAS != 0) v[k] += biases[k];
    }
    store_items(begin, first, v);
  NEXT_BLOCK(first)
}

// ĝ and x̂ for a block.
void load_pairs(uint begin, uint first, C mean, C rstd, out C gs[ITEMS], out C hats[ITEMS]) {
  if (KEEP == 0) load_parameters(first);
  load_items5(begin, first, C(0), gs);
  load_items1(begin, first, mean, hats);
  FOR_ITEMS(k) {
    gs[k] = weighted(gs[k], k);
    hats[k] = (hats[k] - mean) * rstd;
  }
}

void backward_row(uint row, bool here) {
  const uint n = push.word[N], begin = row * n;
  const C over = C(1) / C(max(n, 1u));
  const C mean = CENTRED && here ? load2(DT_C, row) : C(0), rstd = here ? load3(DT_C, row) : C(0);
  C gs[ITEMS], hats[ITEMS];
  C sum = C(0), dot = C(0);
  FOR_BLOCKS(first, here)
    load_pairs(begin, first, mean, rstd, gs, hats);
    FOR_ITEMS(k) {
      sum += exists(first, k) ? gs[k] : C(0);
      dot += exists(first, k) ? gs[k] * hats[k] : C(0);
    }
  NEXT_BLOCK(first)
  sum = CENTRED ? row_sum(sum) * over : C(0);
  dot = row_sum(dot) * over;
  FOR_BLOCKS(first, here)
    if (KEEP == 0) load_pairs(begin, first, mean, rstd, gs, hats);
    FOR_ITEMS(k) gs[k] = rstd * (gs[k] - sum - hats[k] * dot);
    store_items(begin, first, gs);
  NEXT_BLOCK(first)
}

void main() {
  if (KEEP != 0) load_parameters(QUADS ? 4 * lane() : lane());
  FOR_ROWS(row)
    if (BACKWARD) backward_row(row, row < push.word[ROWS]);
    else forward_row(row, row < push.word[ROWS]);
  NEXT_ROW
}
