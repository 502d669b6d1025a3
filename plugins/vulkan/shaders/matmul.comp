#version 460
// Matrix products of any strides, by tiles: c[i, j] = sum over p of a[i, p]·b[p, j]. Slots: c or partial sums, a, b, bias.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "product.glsl"
#include "tiles.glsl"

uvec2 begin;

C load_a(uint row, uint k) { return load1(IN, begin.x + row * A_ROW + k * A_COL); }
C load_b(uint k, uint column) { return load2(IN, begin.y + k * B_ROW + column * B_COL); }

void main() {
  const Extent size = Extent(M, N, K);
  const uint across = (N + BN - 1) / BN, tiles = across * ((M + BM - 1) / BM);
  uint w = gl_WorkGroupID.x;
  if (w < tiles * BATCHES * SPLITS) do {
    const uint part = w % SPLITS, tile = w / SPLITS % tiles, batch = w / SPLITS / tiles;
    const uint m = tile / across * BM, n = tile % across * BN, k = part * SPLIT_K;
    begin = batch_place(batch);
    multiply(size, m, n, k, min(k + SPLIT_K, K));
    const uint to = (part * BATCHES + batch) * M;
    if (SPLITS > 1) {
      FOR_EACH_SUM(size, m, n, store0(OUT, (to + row) * N + column, sum))
    } else {
      FOR_EACH_SUM(size, m, n, store0(OUT, (to + row) * N + column, finish(sum, column)))
    }
  } while ((w += gl_NumWorkGroups.x) < tiles * BATCHES * SPLITS);
}
