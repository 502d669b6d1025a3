#version 460
// Matrix products of up to 4 rows: every element of b is read once. A workgroup computes COLUMNS columns, or four times as many; its slices
// divide the products.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 3
#include "quads.glsl"
layout(constant_id = 1) const uint COLUMNS = 32;
layout(constant_id = 2) const uint ROWS = 1;
#include "product.glsl"
layout(constant_id = 6) const uint QUADS = 0;  // read four elements at once: 1 along k, 2 along the columns of b
const uint WIDTH = QUADS == 2 ? 4 : 1;         // columns for each invocation

shared C parts[WIDTH * gl_WorkGroupSize.x];
C sums[ROWS * WIDTH];

// Products k, k + step, … before end.
void add_products(uvec2 begin, uint column, uint k, uint step, uint end) {
  const uint words = quad_words(IN);
  if (QUADS == 1) {
    for (k *= 4; k < end; k += 4 * step) {
      const Quad b = load_quad2(words, (begin.y + k + column * B_COL) / 4);
      [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        const Quad a = load_quad1(words, (begin.x + r * A_ROW + k) / 4);
        [[unroll]] for (uint j = 0; j < 4; ++j) sums[r] += element(IN, a, j) * element(IN, b, j);
      }
    }
  } else if (QUADS == 2) {
    for (; k < end; k += step) {
      const Quad b = load_quad2(words, (begin.y + k * B_ROW + column) / 4);
      [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        const C a = load1(IN, begin.x + r * A_ROW + k * A_COL);
        [[unroll]] for (uint j = 0; j < WIDTH; ++j) sums[r * WIDTH + j] += a * element(IN, b, j);
      }
    }
  } else {
    for (; k < end; k += step) {
      const C b = load2(IN, begin.y + k * B_ROW + column * B_COL);
      [[unroll]] for (uint r = 0; r < ROWS; ++r) sums[r] += load1(IN, begin.x + r * A_ROW + k * A_COL) * b;
    }
  }
}

// Adds the slices' sums of a row in the first slice.
void join(uint r, uint t, uint slice, uint slices) {
  [[unroll]] for (uint j = 0; j < WIDTH; ++j) parts[t * WIDTH + j] = sums[r * WIDTH + j];
  barrier();
  for (uint half_way = slices / 2; half_way > 0; half_way /= 2) {
    if (slice < half_way) {
      [[unroll]] for (uint j = 0; j < WIDTH; ++j) parts[t * WIDTH + j] += parts[(t + half_way * COLUMNS) * WIDTH + j];
    }
    barrier();
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x, slices = gl_WorkGroupSize.x / COLUMNS, slice = t / COLUMNS;
  const uint tiles = (N + COLUMNS * WIDTH - 1) / (COLUMNS * WIDTH);
  uint w = gl_WorkGroupID.x;
  if (w < tiles * BATCHES * SPLITS) do {
    const uint part = w % SPLITS, column = (w / SPLITS % tiles * COLUMNS + t % COLUMNS) * WIDTH, batch = w / SPLITS / tiles;
    const uint start = part * SPLIT_K;
    [[unroll]] for (uint i = 0; i < ROWS * WIDTH; ++i) sums[i] = C(0);
    if (column < N)
      add_products(batch_place(batch), column, (QUADS == 1 ? start / 4 : start) + slice, slices, min(start + SPLIT_K, K));
    for (uint r = 0; r < ROWS; ++r) {
      join(r, t, slice, slices);
      if (slice == 0 && column < N) {
        [[unroll]] for (uint j = 0; j < WIDTH; ++j) {
          const C sum = parts[t * WIDTH + j];
          store0(OUT, ((part * BATCHES + batch) * M + r) * N + column + j, SPLITS > 1 ? sum : finish(sum, column + j));
        }
      }
      barrier();
    }
  } while ((w += gl_NumWorkGroups.x) < tiles * BATCHES * SPLITS);
}
