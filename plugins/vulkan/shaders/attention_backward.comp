#version 460
// One gradient of attention (WHICH: of q, k or v): a workgroup keeps rows of the result and walks the other side, so that no sum needs
// atomics. Weights are recomputed from lse: p = e^(s − lse), ds = p∘(g·vᵀ − along), gv = pᵀ·g, gk = scale·dsᵀ·q, gq = scale·ds·k
// (Dao et al. 2022, app. B.4). Slots: the result; the operand of scores and that of g·vᵀ whose rows are the result's; the two across; mask;
// lse and along of each query, from attention_rows.comp.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "attention.glsl"
layout(constant_id = 7) const uint WHICH = 0;
const bool OF_QUERIES = WHICH == 0, OF_VALUES = WHICH == 2;

Head own, own_other, across, across_other;
uint first, depth;  // of the tile
bool of_scores = true;  // or g·vᵀ

C load_a(uint row, uint p) {
  if (!for_scores) return weights[(row - first) * W_PITCH + p - depth];
  if (of_scores) return load1(IN, at(own, row, p));
  return load2(IN, at(own_other, row, p));
}
C load_b(uint p, uint column) {
  if (!for_scores) {
    if (OF_VALUES) return load4(IN, at(across_other, p, column));
    return load3(IN, at(across, p, column));
  }
  if (of_scores) return load3(IN, at(across, column, p));
  return load4(IN, at(across_other, column, p));
}

// Turns products in the tile into weights.
void weigh(uint rows, uint columns, Head mask, uint statistics) {
  const uint row = first + lane_row();
  FOR_LANE(c) {
    const uint column = depth + c, place = lane_row() * W_PITCH + c;
    const uint query = OF_QUERIES ? row : column, key = OF_QUERIES ? column : row;
    C score = C_LEAST;
    if (row < rows && column < columns) score = score_of(weights[place], mask, query, key);
    C weight = C(0);
    if (score != C_LEAST) weight = m_exp(score - load6(DT_C, statistics + query));
    weights[place] = weight;
  }
  barrier();
}

// Turns the tile's weights into the gradients of scores. `along`: where that of query 0 is.
shared C along_room[BM > BN ? BM : BN];
void weigh_gradients(uint rows, uint columns, uint along) {
  const uint begin = OF_QUERIES ? first : depth, many = OF_QUERIES ? BM : BN;
  uint e = gl_LocalInvocationID.x;
  if (e < many) do {
    along_room[e] = C(0);
    if (begin + e < QUERIES) along_room[e] = load6(DT_C, along + begin + e);
  } while ((e += gl_WorkGroupSize.x) < many);
  barrier();
  of_scores = false;
  multiply(Extent(rows, columns, VALUE_WIDTH), first, depth, 0, VALUE_WIDTH);
  of_scores = true;
  FOR_TILE(i, j) weights[tile_place(i, j)] *= sums[i * RN + j] - along_room[OF_QUERIES ? tile_row(i) : tile_column(j)];
  barrier();
}

void walk(uint rows, uint columns, uint width, uint b, uint h) {
  // Queries see no later keys, and keys no earlier queries.
  const uint end = CAUSAL != 0 && OF_QUERIES ? min(columns, first + BM) : columns;
  const uint statistics = (b * HEADS + h) * QUERIES;
  const uint all = COPIES * QUERIES * (OF_QUERIES ? 1u : GROUP);
  const Head mask = head_of(4, b, h);
  depth = CAUSAL != 0 && !OF_QUERIES ? first / BN * BN : 0;
  if (depth < end) do {
    multiply(Extent(rows, end, WIDTH), first, depth, 0, WIDTH);
    put_sums();
    weigh(rows, end, mask, statistics);
    if (!OF_VALUES) weigh_gradients(rows, end, all + statistics);
    add_weighted(rows, width, first, depth, end);
  } while ((depth += BN) < end);
}

void main() {
  const uint rows = OF_QUERIES ? QUERIES : KEYS, columns = OF_QUERIES ? KEYS : QUERIES;
  const uint width = OF_VALUES ? VALUE_WIDTH : WIDTH;
  const uint tiles = (rows + BM - 1) / BM, heads = OF_QUERIES ? HEADS : HEADS / GROUP;
  if (gl_LocalInvocationID.x < BM) row_factor[gl_LocalInvocationID.x] = OF_VALUES ? C(1) : SCALE;
  uint w = gl_WorkGroupID.x;
  if (w < tiles * COPIES) do {
    first = w % tiles * BM;
    const uint b = w / tiles / heads, mine = w / tiles % heads;
    own = head_of(0, b, mine);
    own_other = head_of(1, b, mine);
    clear_result();
    uint k = 0;
    do {  // keys serve a group of heads
      const uint other = OF_QUERIES ? mine / GROUP : mine * GROUP + k;
      across = head_of(2, b, other);
      across_other = head_of(3, b, other);
      walk(rows, columns, width, b, OF_QUERIES ? mine : other);
    } while (++k < (OF_QUERIES ? 1u : GROUP));
    store_result(head_of(5, b, mine), rows, width, first);
  } while ((w += gl_NumWorkGroups.x) < tiles * COPIES);
}
