#version 460
// Sorts source rows by destination, in an order that does not depend on invocations. CODE 0: ends[place] = where a place's bucket begins;
// 1: puts rows into their buckets in any order, which moves ends to the ends; 2: sorts each bucket by row.
// Slot: scratch: counts (places), ends (places), the room taken so far (1), keys, buckets, sorted (rows each). Words: places, rows.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
layout(constant_id = 1) const uint CODE = 0;
#define PLACES push.word[0]
#define ROWS push.word[1]
#define ENDS PLACES
#define TAKEN (2 * PLACES)
#define KEYS (2 * PLACES + 1)
#define BUCKETS (KEYS + ROWS)
#define SORTED (BUCKETS + ROWS)

shared uint room, first;

// One atomic addition to device memory for a whole workgroup.
void begin_buckets() {
  const uint group = gl_WorkGroupSize.x, rounds = (PLACES + group - 1) / group;
  uint r = gl_WorkGroupID.x;
  if (r < rounds) do {
    const uint place = r * group + gl_LocalInvocationID.x;
    if (gl_LocalInvocationID.x == 0) room = 0;
    barrier();
    uint mine = 0;
    if (place < PLACES) mine = atomicAdd(room, AT32(0, place));
    barrier();
    if (gl_LocalInvocationID.x == 0) first = atomicAdd(AT32(0, TAKEN), room);
    barrier();
    if (place < PLACES) AT32(0, ENDS + place) = first + mine;
    barrier();
  } while ((r += gl_NumWorkGroups.x) < rounds);
}

void main() {
  if (CODE == 0) {
    begin_buckets();
    return;
  }
  uint j = gl_GlobalInvocationID.x;
  if (j < ROWS) do {
    const uint key = AT32(0, KEYS + j);
    if (key == 0xffffffffu) continue;
    if (CODE == 1) {
      const uint to = atomicAdd(AT32(0, ENDS + key), 1u);
      AT32(0, BUCKETS + to) = j;
    } else {
      const uint end = AT32(0, ENDS + key), begin = end - AT32(0, key);
      uint rank = 0;
      for (uint i = begin; i < end; ++i) rank += AT32(0, BUCKETS + i) < j ? 1u : 0u;
      AT32(0, SORTED + begin + rank) = j;
    }
  } while ((j += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < ROWS);
}
