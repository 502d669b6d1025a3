#version 460
// Stable sorting of rows. Stage 0 sorts stretches of 2^LOG_SPAN elements in shared memory, several short rows at a time; writes results if
// a row is one stretch, otherwise entries of key and position. Stage 1 merges pairs of sorted runs; each entry finds its position in the
// other run. Stage 2 turns entries into results. topk keeps no more of each run than it needs.
// Slots: values, indices, x, entries to, entries from.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "order_keys.glsl"
layout(constant_id = 1) const uint STAGE = 0;
layout(constant_id = 2) const uint IN = 11;
layout(constant_id = 3) const uint WIDE = 0;       // keys of 64 bits
layout(constant_id = 4) const uint WHOLE = 1;      // stage 0: to results
const uint SPAN = 1024;
// rows of n elements; how many are kept of each; bits to invert for descending order
const uint ROWS = 0, N = 1, KEPT = 2, FLIP = 3, LOG_SPAN = 4;
// Entries: a row has LENGTH of them in runs of RUN, and after a stage TO_LENGTH in runs of TO_RUN; in total there are SIZE and TO_SIZE.
const uint RUN = 5, LENGTH = 6, TO_RUN = 7, TO_LENGTH = 8, SIZE = 9, TO_SIZE = 10;
TN_KEY(2)

struct Entry { uvec2 key; uint at; };
bool before(Entry a, Entry b) {
  return WIDE != 0 && a.key.x != b.key.x ? a.key.x < b.key.x : a.key.y < b.key.y || (a.key.y == b.key.y && a.at < b.at);
}

shared uint low[SPAN], places[SPAN], high[WIDE != 0 ? SPAN : 1];

void give(uint row, uint i, uint at) {
  const uint from = row * push.word[N] + at, to = row * push.word[KEPT] + i;
  AT32(1, 2 * to) = at;
  AT32(1, 2 * to + 1) = 0u;
  if (IN == DT_F64 || IN == DT_I64) {
    AT32(0, 2 * to) = AT32(2, 2 * from);
    AT32(0, 2 * to + 1) = AT32(2, 2 * from + 1);
  } else if (IN == DT_F32 || IN == DT_I32 || IN == DT_U32) {
    AT32(0, to) = AT32(2, from);
  } else if (IN == DT_F16 || IN == DT_BF16 || IN == DT_U16 || IN == DT_I16) {
    AT16(0, to) = AT16(2, from);
  } else {
    AT8(0, to) = AT8(2, from);
  }
}

void put(uint i, Entry e) {
  AT32(3, i) = e.key.y;
  AT32(3, push.word[TO_SIZE] + i) = e.at;
  if (WIDE != 0) AT32(3, 2 * push.word[TO_SIZE] + i) = e.key.x;
}
Entry get(uint i) {
  return Entry(uvec2(WIDE != 0 ? AT32(4, 2 * push.word[SIZE] + i) : 0u, AT32(4, i)), AT32(4, push.word[SIZE] + i));
}

Entry shared_entry(uint i) { return Entry(uvec2(WIDE != 0 ? high[i] : 0u, low[i]), places[i]); }
void set_shared(uint i, Entry e) {
  low[i] = e.key.y;
  places[i] = e.at;
  if (WIDE != 0) high[i] = e.key.x;
}

void sort_shared(uint span) {
  for (uint size = 2; size <= span; size *= 2) {
    for (uint reach = size / 2; reach > 0; reach /= 2) {
      barrier();
      for (uint p = gl_LocalInvocationID.x; p < SPAN / 2; p += gl_WorkGroupSize.x) {
        const uint i = 2 * p - (p & (reach - 1)), j = i + reach;
        const Entry a = shared_entry(i), b = shared_entry(j);
        if (before(b, a) == ((i & (span - 1) & size) == 0)) {
          set_shared(i, b);
          set_shared(j, a);
        }
      }
    }
  }
  barrier();
}

void sort_stretches() {
  const uint rows = push.word[ROWS], n = push.word[N], span = 1u << push.word[LOG_SPAN], at_once = SPAN >> push.word[LOG_SPAN];
  const uint stretches = WHOLE != 0 ? 1 : (n + SPAN - 1) / SPAN, turns = (rows + at_once - 1) / at_once * stretches;
  uint work = gl_WorkGroupID.x;
  if (work < turns) do {
    const uint first = work % stretches * SPAN, row_of_turn = work / stretches * at_once;
    for (uint e = gl_LocalInvocationID.x; e < SPAN; e += gl_WorkGroupSize.x) {
      const uint row = row_of_turn + (e >> push.word[LOG_SPAN]), i = first + (e & (span - 1));
      Entry entry = Entry(uvec2(~0u), ~0u);
      if (row < rows && i < n) entry = Entry(key2(IN, row * n + i) ^ push.word[FLIP], i);
      set_shared(e, entry);
    }
    sort_shared(span);
    for (uint e = gl_LocalInvocationID.x; e < SPAN; e += gl_WorkGroupSize.x) {
      const uint row = row_of_turn + (e >> push.word[LOG_SPAN]), i = e & (span - 1);
      if (row >= rows) continue;
      if (WHOLE != 0) {
        if (i < push.word[KEPT]) give(row, i, places[e]);
      } else if (i < push.word[TO_RUN]) {
        const uint to = work % stretches * push.word[TO_RUN] + i;
        if (to < push.word[TO_LENGTH]) put(row * push.word[TO_LENGTH] + to, shared_entry(e));
      }
    }
    barrier();
  } while ((work += gl_NumWorkGroups.x) < turns);
}

void main() {
  if (STAGE == 0) {
    sort_stretches();
    return;
  }
  const uint length = push.word[STAGE == 1 ? LENGTH : KEPT], all = push.word[ROWS] * length;
  uint i = gl_GlobalInvocationID.x;
  if (i < all) do {
    const uint row = i / length, e = i % length;
    if (STAGE == 2) {
      give(row, e, AT32(4, push.word[SIZE] + row * push.word[LENGTH] + e));
    } else {
      const uint run = push.word[RUN], which = e / run, other = which ^ 1u;
      const uint begin = row * length + min(other * run, length), end = row * length + min((other + 1) * run, length);
      const Entry mine = get(i);
      uint low_at = begin, high_at = end;
      while (low_at < high_at) {
        const uint middle = (low_at + high_at) / 2;
        if (before(get(middle), mine)) low_at = middle + 1;
        else high_at = middle;
      }
      const uint rank = e % run + (low_at - begin), to = which / 2 * push.word[TO_RUN] + rank;
      if (rank < push.word[TO_RUN] && to < push.word[TO_LENGTH]) put(row * push.word[TO_LENGTH] + to, mine);
    }
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < all);
}
