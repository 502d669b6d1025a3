#version 460
// Running sums and products of rows, by CODE, the order of Op in ops/scan.cpp. A long row is cut into chunks: the first pass stores each
// chunk's total in slot 2; in the second each chunk starts from the totals before it.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "limits.glsl"
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint OUT = 11;
layout(constant_id = 3) const uint IN = 11;
layout(constant_id = 4) const uint STAGE = 0;  // 0: whole rows, 1: totals of chunks, 2: chunks after their totals
const uint ROWS = 0, N = 1, LOG_ROWS = 2, CHUNK = 3, CHUNKS = 4;
const uint ITEMS = 4;

C join(C a, C b) { return CODE == 0 ? a + b : a * b; }
const C NONE = CODE == 0 ? C(0) : C(1);

shared C parts[gl_WorkGroupSize.x];

// The combined value of the earlier lanes, and of all lanes.
C scan_lanes(C mine, uint lane, uint lanes, out C all) {
  const uint me = gl_LocalInvocationID.x;
  C sum = mine;
  parts[me] = sum;
  for (uint reach = 1; reach < lanes; reach *= 2) {
    barrier();
    const C before = lane >= reach ? parts[me - reach] : NONE;
    barrier();
    sum = join(before, sum);
    parts[me] = sum;
  }
  barrier();
  all = parts[me - lane + lanes - 1];
  const C before = lane == 0 ? NONE : parts[me - 1];
  barrier();
  return before;
}

void main() {
  const uint rows = push.word[ROWS], n = push.word[N], chunks = push.word[CHUNKS], lanes = gl_WorkGroupSize.x >> push.word[LOG_ROWS];
  const uint me = gl_LocalInvocationID.x, lane = me & (lanes - 1);
  const uint blocks = (rows + (1u << push.word[LOG_ROWS]) - 1) >> push.word[LOG_ROWS];
  uint work = gl_WorkGroupID.x;
  if (work < blocks * chunks) do {
    const uint row = (work / chunks << push.word[LOG_ROWS]) + me / lanes, chunk = work % chunks;
    const uint begin = chunk * push.word[CHUNK], end = min(n, begin + push.word[CHUNK]);
    C carry = NONE, all;
    if (STAGE == 2) {
      C before = NONE;
      for (uint k = lane; k < chunk; k += lanes) before = join(before, load2(DT_C, row * chunks + k));
      scan_lanes(before, lane, lanes, carry);
    }
    for (uint first = begin; first < end; first += lanes * ITEMS) {
      C v[ITEMS];
      C sum = NONE;
      [[unroll]] for (uint k = 0; k < ITEMS; ++k) {
        const uint i = first + lane * ITEMS + k;
        v[k] = NONE;
        if (row < rows && i < end) v[k] = load1(IN, row * n + i);
        sum = join(sum, v[k]);
      }
      sum = join(carry, scan_lanes(sum, lane, lanes, all));
      carry = join(carry, all);
      [[unroll]] for (uint k = 0; k < ITEMS; ++k) {
        const uint i = first + lane * ITEMS + k;
        sum = join(sum, v[k]);
        if (STAGE != 1 && row < rows && i < end) store0(OUT, row * n + i, sum);
      }
    }
    if (STAGE == 1 && lane == 0 && row < rows) store2(DT_C, row * chunks + chunk, carry);
  } while ((work += gl_NumWorkGroups.x) < blocks * chunks);
}
