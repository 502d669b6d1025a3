#version 460
// Attention, forward: a workgroup keeps some queries, walks the keys once, and rescales its sums whenever a larger score appears (online
// softmax, Milakov and Gimelshein 2018; Dao 2023). Slots: y, lse, q, k, v, mask.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "attention.glsl"

Head q, k, v;
uint first, key;  // of the tile

C load_a(uint row, uint p) {
  if (for_scores) return load2(IN, at(q, row, p));
  return weights[(row - first) * W_PITCH + p - key];
}
C load_b(uint p, uint column) {
  if (for_scores) return load3(IN, at(k, column, p));
  return load4(IN, at(v, p, column));
}

// Reductions over the lanes of a row.
shared C row_room[BM * PARTS];
#define TN_OVER_LANES(name, pick)                      \
  C name(C x) {                                        \
    if (PARTS == 1) return x;                          \
    row_room[gl_LocalInvocationID.x] = x;              \
    barrier();                                         \
    C a = row_room[lane_row()];                        \
    for (uint part = 1; part < PARTS; ++part) {        \
      const C b = row_room[part * BM + lane_row()];    \
      a = pick;                                        \
    }                                                  \
    barrier();                                         \
    return a;                                          \
  }
TN_OVER_LANES(most_of_row, b > a || is_nan(b) ? b : a)
TN_OVER_LANES(sum_of_row, a + b)

// Turns products in the tile into e^(score − most) and updates what this lane knows of its row.
void weigh(Head mask, uint end, inout C most, inout C total) {
  const uint row = lane_row(), query = first + row;
  C high = most;
  FOR_LANE(column) {
    C score = C_LEAST;
    if (query < QUERIES && key + column < end)
      score = score_of(weights[row * W_PITCH + column], mask, query, key + column);
    weights[row * W_PITCH + column] = score;
    high = score > high || is_nan(score) ? score : high;
  }
  high = most_of_row(high);
  const C rescale = most == C_LEAST ? C(0) : m_exp(most - high);
  total *= rescale;
  most = high;
  if (lane_part() == 0) row_factor[row] = rescale;
  FOR_LANE(column) {
    const C score = weights[row * W_PITCH + column], e = score == C_LEAST ? C(0) : m_exp(score - most);
    weights[row * W_PITCH + column] = e;
    total += e;
  }
  barrier();
  [[unroll]] for (uint i = 0; i < RM; ++i) {
    const C factor = row_factor[tile_row(i)];
    [[unroll]] for (uint b = 0; b < BLOCKS; ++b)
      [[unroll]] for (uint j = 0; j < RN; ++j) result[b * SUMS + i * RN + j] *= factor;
  }
}

void attend(uint b, uint h) {
  const Head mask = head_of(3, b, h), lse = head_of(5, b, h);
  const uint end = CAUSAL != 0 ? min(KEYS, first + BM) : KEYS;
  C most = C_LEAST, total = C(0);
  clear_result();
  key = 0;
  if (key < end) do {
    multiply(Extent(QUERIES, end, WIDTH), first, key, 0, WIDTH);
    put_sums();
    weigh(mask, end, most, total);
    add_weighted(QUERIES, VALUE_WIDTH, first, key, end);
  } while ((key += BN) < end);

  total = sum_of_row(total);
  if (lane_part() == 0) {
    row_factor[lane_row()] = total == C(0) ? C(0) : C(1) / total;
    if (first + lane_row() < QUERIES)
      store1(DT_C, at(lse, first + lane_row(), 0), total == C(0) ? C_LEAST : most + m_log(total));
  }
  store_result(head_of(4, b, h), QUERIES, VALUE_WIDTH, first);
}

void main() {
  const uint tiles = (QUERIES + BM - 1) / BM;
  uint w = gl_WorkGroupID.x;
  if (w < tiles * COPIES) do {
    // Under causality later queries see more keys, so they begin first.
    first = (tiles - 1 - w % tiles) * BM;
    const uint b = w / tiles / HEADS, h = w / tiles % HEADS;
    q = head_of(0, b, h);
    k = head_of(1, b, h / GROUP);
    v = head_of(2, b, h / GROUP);
    attend(b, h);
  } while ((w += gl_NumWorkGroups.x) < tiles * COPIES);
}
