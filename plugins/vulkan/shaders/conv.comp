#version 460
// Convolution by tiles: operands are gathered on their way to shared memory. Words: m, n, k, then as conv.glsl.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "conv.glsl"
#define A_BY_K (PASS != 1u || TAPS > 1u)
#define B_BY_K (PASS == 2u)
#include "tiles.glsl"

uint group, known = 0xffffffffu;
Place place;

// An invocation asks for the same position repeatedly.
void look_up(uint i) {
  if (i == known) return;
  known = i;
  place = place_of(i);
}

C load_a(uint row, uint k) {
  if (PASS != 2) return weight(group, row, k);
  look_up(k);
  return gradient(group, row, place);
}

C load_b(uint k, uint column) {
  look_up(PASS == 2 ? k : column);
  return fetch(place, group, PASS == 2 ? column : k);
}

void put(uint part, Extent size, uint row, uint column, C sum) {
  if (PASS == 2) {
    store0(OUT, ((part * GROUPS + group) * size.m + row) * size.n + column, sum);
  } else {
    if (BIAS) sum += load3(IN, group * size.m + row);
    store0(OUT, ((column / plane * GROUPS + group) * size.m + row) * plane + column % plane, sum);
  }
}

void main() {
  const Extent size = Extent(push.word[0], push.word[1], push.word[2]);
  const uint columns = (size.n + BN - 1) / BN, tiles = columns * ((size.m + BM - 1) / BM);
  uint w = gl_WorkGroupID.x;
  if (w < tiles * GROUPS * SPLITS) do {
    const uint part = w % SPLITS, tile = w / SPLITS % tiles;
    group = w / SPLITS / tiles;
    // Tiles that read the same positions are consecutive.
    const uint rows = tiles / columns, m = tile % rows * BM, n = tile / rows * BN, k = part * SPLIT_K;
    multiply(size, m, n, k, min(k + SPLIT_K, size.k));
    FOR_EACH_SUM(size, m, n, put(part, size, row, column, sum))
  } while ((w += gl_NumWorkGroups.x) < tiles * GROUPS * SPLITS);
}
