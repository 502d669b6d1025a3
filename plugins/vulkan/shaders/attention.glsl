// What attention's shaders share: words and table as ops/attention.cpp passes them, operands by head, scores, and the tile of their weights.
#include "heads.glsl"
#include "math.glsl"
#include "limits.glsl"
layout(constant_id = 3) const uint IN = 11;
layout(constant_id = 4) const uint BLOCKS = 1;  // tiles that the columns of a result take
layout(constant_id = 5) const uint MASK = 0;    // 1: allows where true; 2: added
layout(constant_id = 6) const uint CAUSAL = 0;

#define HEADS push.word[0]
#define GROUP push.word[1]  // heads of queries that share a head of keys
#define COPIES push.word[2]  // results' heads, in all batch entries
#define QUERIES push.word[3]
#define KEYS push.word[4]
#define WIDTH push.word[5]  // of q and k
#define VALUE_WIDTH push.word[6]
#ifdef TN_F64
#define SCALE packDouble2x32(uvec2(push.word[7], push.word[8]))
#else
#define SCALE real_word(7)
#endif

// Neighbours along the depth are contiguous in operands of scores; in those of sums, neighbours along the columns.
bool for_scores = true;
#define A_BY_K true
#define B_BY_K for_scores
#include "tiles.glsl"

const uint SUMS = RM * RN;
C result[SUMS * BLOCKS];
// The tile between two products. What costs many instructions runs over it in loops: unrolled over an invocation's sums, it would take
// drivers seconds to compile.
const uint W_PITCH = BN + 1u;
shared C weights[BM * W_PITCH];

#define FOR_TILE(i, j) [[unroll]] for (uint i = 0; i < RM; ++i) [[unroll]] for (uint j = 0; j < RN; ++j)
uint tile_row(uint i) { return gl_LocalInvocationID.x / TX + i * (BM / RM); }
uint tile_column(uint j) { return gl_LocalInvocationID.x % TX + j * TX; }
uint tile_place(uint i, uint j) { return tile_row(i) * W_PITCH + tile_column(j); }

// The lanes that share a row of the tile: rows first, so that neighbours never share a bank.
const uint PARTS = BN / RN * (BM / RM) / BM;
uint lane_row() { return gl_LocalInvocationID.x % BM; }
uint lane_part() { return gl_LocalInvocationID.x / BM; }
#define FOR_LANE(column) for (uint column = lane_part(); column < BN; column += PARTS)

void put_sums() {
  FOR_TILE(i, j) weights[tile_place(i, j)] = sums[i * RN + j];
  barrier();
}

void clear_result() {
  [[unroll]] for (uint s = 0; s < SUMS * BLOCKS; ++s) result[s] = C(0);
}

// result += weights · right side, whose rows are from `depth` on, before `end`.
void add_weighted(uint rows, uint columns, uint first, uint depth, uint end) {
  for_scores = false;
  uint block = 0;
  do {
    multiply(Extent(rows, columns, end), first, block * BN, depth, min(depth + BN, end));
    [[unroll]] for (uint b = 0; b < BLOCKS; ++b)  // by constant indices, so that results stay in registers
      if (b == block) [[unroll]] for (uint s = 0; s < SUMS; ++s) result[b * SUMS + s] += sums[s];
  } while (++block < BLOCKS);
  for_scores = true;
}

// Writes the tile's result to slot 0, each row times row_factor.
shared C row_factor[BM];
void store_result(Head to, uint rows, uint columns, uint first) {
  uint block = 0;
  do {
    barrier();
    [[unroll]] for (uint b = 0; b < BLOCKS; ++b)
      if (b == block) FOR_TILE(i, j) weights[tile_place(i, j)] = result[b * SUMS + i * RN + j];
    barrier();
    uint e = gl_LocalInvocationID.x;
    do {
      const uint row = e / BN, column = block * BN + e % BN;
      if (first + row < rows && column < columns)
        store0(IN, at(to, first + row, column), weights[row * W_PITCH + e % BN] * row_factor[row]);
    } while ((e += gl_WorkGroupSize.x) < BM * BN);
  } while (++block < BLOCKS);
  barrier();
}

// The score of a product q·k; least where the mask (slot 5) or causality forbids.
C score_of(C product, Head mask, uint query, uint key) {
  if (CAUSAL != 0 && key > query) return C_LEAST;
  if (MASK == 1 && !load_bool5(at(mask, query, key))) return C_LEAST;
  const C score = product * SCALE;
  if (MASK == 2) return score + load5(IN, at(mask, query, key));
  return score;
}
