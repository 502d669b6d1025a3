#version 460
// Matrix products of up to 4 rows: every element of b is read once. A workgroup makes COLUMNS columns; its slices share the products.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
layout(constant_id = 1) const uint COLUMNS = 32;
layout(constant_id = 2) const uint ROWS = 1;
#include "product.glsl"

shared C parts[ROWS * gl_WorkGroupSize.x];

void main() {
  const uint t = gl_LocalInvocationID.x, group = gl_WorkGroupSize.x, slices = group / COLUMNS, slice = t / COLUMNS;
  const uint tiles = (N + COLUMNS - 1) / COLUMNS;
  for (uint w = gl_WorkGroupID.x; w < tiles * BATCHES * SPLITS; w += gl_NumWorkGroups.x) {
    const uint part = w % SPLITS, column = w / SPLITS % tiles * COLUMNS + t % COLUMNS, batch = w / SPLITS / tiles;
    const uvec2 begin = batch_place(batch);
    const uint end = min((part + 1) * SPLIT_K, K);
    C sums[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) sums[r] = C(0);
    if (column < N) {
      for (uint k = part * SPLIT_K + slice; k < end; k += slices) {
        const C b = load2(IN, begin.y + k * B_ROW + column * B_COL);
        [[unroll]] for (uint r = 0; r < ROWS; ++r) sums[r] += load1(IN, begin.x + r * A_ROW + k * A_COL) * b;
      }
    }
    [[unroll]] for (uint r = 0; r < ROWS; ++r) parts[r * group + t] = sums[r];
    barrier();
    for (uint half_way = slices / 2; half_way > 0; half_way /= 2) {
      if (slice < half_way) {
        for (uint r = 0; r < ROWS; ++r) parts[r * group + t] += parts[r * group + t + half_way * COLUMNS];
      }
      barrier();
    }
    if (slice == 0 && column < N) {
      for (uint r = 0; r < ROWS; ++r) {
        const C sum = parts[r * group + t];
        store0(OUT, ((part * BATCHES + batch) * M + r) * N + column, SPLITS > 1 ? sum : finish(sum, column));
      }
    }
    barrier();
  }
}
