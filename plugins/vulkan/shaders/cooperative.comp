#version 460
// Products of f16 on a device's matrix units (VK_NV_cooperative_matrix). A workgroup of eight subgroups computes 128 × 128 sums in f32;
// operands are in shared memory, padded with zeros beyond their edges. Slots and words as in matmul.comp. With TN_EMULATED the lanes
// multiply the matrices themselves, so that everything but the units can be tested anywhere.
// Computes in F32.
#extension GL_GOOGLE_include_directive : require
#ifndef TN_EMULATED
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#pragma use_vulkan_memory_model
#endif
#include "tenon.glsl"
#include "product.glsl"
layout(constant_id = 1) const uint WRONG = 0;  // added to every sum, so that a test sees the device refused

const uint BM = 128, BN = 128, KT = 32, SIDE = 16;
const uint RM = 2, RN = 4;                     // matrices of a subgroup, arranged four deep and two
                                               // across
const uint BY_K = KT / 8 + 1, BY_LINE = BM / 8 + 1;  // a line of a tile, in eights; one more than it holds, for the banks
const uint LANES = 32;
shared uvec4 tile_a[BM * BY_K];
shared uvec4 tile_b[BN * BY_K];
shared float staged[8 * SIDE * SIDE];
#ifdef TN_EMULATED
#define SUBGROUP (gl_LocalInvocationID.x / LANES)
#define LANE (gl_LocalInvocationID.x % LANES)
#else
#define SUBGROUP gl_SubgroupID
#define LANE gl_SubgroupInvocationID
#endif

#define A_IN_EIGHTS ((push.word[15] & 8u) != 0u)  // eight neighbours on a boundary of 16 bytes
#define B_IN_EIGHTS ((push.word[15] & 16u) != 0u)

uint eights_left(uint at, uint end) { return at < end ? min(end - at, 8u) : 0u; }

// Eight halves from `at`, with a stride of `step`; zeros after the first `count`.
#define TN_EIGHT(k)                                                                       \
  uvec4 eight##k(uint at, uint step, uint count, bool aligned) {                          \
    if (aligned && count == 8u) return AT4x32(k, at >> 3);                                \
    uvec4 all = uvec4(0u);                                                                \
    for (uint i = 0; i < count; ++i)                                                      \
      all[i >> 1] |= uint(AT16(k, at + i * step)) << (16u * (i & 1u));                    \
    return all;                                                                           \
  }
TN_EIGHT(1) TN_EIGHT(2)

// Lines follow the direction in which neighbours are adjacent in memory: k, or rows and columns.
void load_tiles(uvec2 begin, uint m, uint n, uint k, uint end) {
  for (uint e = gl_LocalInvocationID.x; e < BM * KT / 8; e += gl_WorkGroupSize.x) {
    const uint across = A_BY_K ? KT / 8 : BM / 8, line = e / across, c = e % across;
    const uint row = m + (A_BY_K ? line : 8 * c), p = k + (A_BY_K ? 8 * c : line);
    const uint count = A_BY_K ? (row < M ? eights_left(p, end) : 0u) : (p < end ? eights_left(row, M) : 0u);
    tile_a[line * (A_BY_K ? BY_K : BY_LINE) + c] =
        eight1(begin.x + row * A_ROW + p * A_COL, A_BY_K ? A_COL : A_ROW, count, A_IN_EIGHTS);
  }
  for (uint e = gl_LocalInvocationID.x; e < BN * KT / 8; e += gl_WorkGroupSize.x) {
    const uint across = B_BY_K ? KT / 8 : BN / 8, line = e / across, c = e % across;
    const uint column = n + (B_BY_K ? line : 8 * c), p = k + (B_BY_K ? 8 * c : line);
    const uint count = B_BY_K ? (column < N ? eights_left(p, end) : 0u) : (p < end ? eights_left(column, N) : 0u);
    tile_b[line * (B_BY_K ? BY_K : BY_LINE) + c] =
        eight2(begin.y + p * B_ROW + column * B_COL, B_BY_K ? B_ROW : B_COL, count, B_IN_EIGHTS);
  }
}

#ifdef TN_EMULATED
float sums[RM * RN][8];  // a lane has half a row of each matrix

float half_of(uvec4 eight, uint i) { return from_half((eight[i >> 1] >> (16u * (i & 1u))) & 0xffffu); }
float a_at(uint row, uint p) {
  return A_BY_K ? half_of(tile_a[row * BY_K + p / 8], p % 8) : half_of(tile_a[p * BY_LINE + row / 8], row % 8);
}
float b_at(uint p, uint column) {
  return B_BY_K ? half_of(tile_b[column * BY_K + p / 8], p % 8) : half_of(tile_b[p * BY_LINE + column / 8], column % 8);
}
void clear() {
  for (uint t = 0; t < RM * RN; ++t)
    for (uint c = 0; c < 8; ++c) sums[t][c] = float(WRONG);
}
void multiply(uint row, uint column, uint p0) {
  for (uint t = 0; t < RM * RN; ++t)
    for (uint c = 0; c < 8; ++c)
      for (uint p = p0; p < p0 + SIDE; ++p)
        sums[t][c] += a_at(row + t / RN * SIDE + LANE / 2, p) * b_at(p, column + t % RN * SIDE + LANE % 2 * 8 + c);
}
void stage(uint t, uint at) {
  for (uint c = 0; c < 8; ++c) staged[at + 8 * LANE + c] = sums[t][c];
}
#else
#define MATRIX(bits) fcoopmatNV<bits, gl_ScopeSubgroup, SIDE, SIDE>
MATRIX(32) sums[RM * RN];

void clear() {
  [[unroll]] for (uint t = 0; t < RM * RN; ++t) sums[t] = MATRIX(32)(float(WRONG));
}
void multiply(uint row, uint column, uint p) {
  MATRIX(16) a[RM], b[RN];
  [[unroll]] for (uint i = 0; i < RM; ++i) {
    if (A_BY_K)
      coopMatLoadNV(a[i], tile_a, (row + i * SIDE) * BY_K + p / 8, BY_K, false);
    else
      coopMatLoadNV(a[i], tile_a, p * BY_LINE + (row + i * SIDE) / 8, BY_LINE, true);
  }
  [[unroll]] for (uint j = 0; j < RN; ++j) {
    if (B_BY_K)
      coopMatLoadNV(b[j], tile_b, (column + j * SIDE) * BY_K + p / 8, BY_K, true);
    else
      coopMatLoadNV(b[j], tile_b, p * BY_LINE + (column + j * SIDE) / 8, BY_LINE, false);
  }
  [[unroll]] for (uint i = 0; i < RM; ++i)
    [[unroll]] for (uint j = 0; j < RN; ++j) sums[i * RN + j] = coopMatMulAddNV(a[i], b[j], sums[i * RN + j]);
}
void stage(uint t, uint at) { coopMatStoreNV(sums[t], staged, at, SIDE, false); }
#endif

void main() {
  const uint across = (N + BN - 1) / BN, tiles = across * ((M + BM - 1) / BM);
  const uint row = SUBGROUP / 2 * (RM * SIDE), column = SUBGROUP % 2 * (RN * SIDE), mine = SUBGROUP * SIDE * SIDE;
  for (uint w = gl_WorkGroupID.x; w < tiles * BATCHES * SPLITS; w += gl_NumWorkGroups.x) {
    const uint part = w % SPLITS, tile = w / SPLITS % tiles, batch = w / SPLITS / tiles;
    const uint m = tile / across * BM, n = tile % across * BN, end = min((part + 1) * SPLIT_K, K);
    const uvec2 begin = batch_place(batch);
    clear();
    for (uint k = part * SPLIT_K; k < end; k += KT) {
      load_tiles(begin, m, n, k, end);
      barrier();
      for (uint p = 0; p < KT; p += SIDE) multiply(row, column, p);
      barrier();
    }
    const uint to = (part * BATCHES + batch) * M;
    [[unroll]] for (uint t = 0; t < RM * RN; ++t) {
      stage(t, mine);
      barrier();
      for (uint e = LANE; e < SIDE * SIDE; e += LANES) {
        const uint i = m + row + t / RN * SIDE + e / SIDE, j = n + column + t % RN * SIDE + e % SIDE;
        const float sum = staged[mine + e];
        if (i < M && j < N) store0(OUT, (to + i) * N + j, SPLITS > 1 ? sum : finish(sum, j));
      }
      barrier();
    }
  }
}
