// The engine of reductions: `kept` results, each of `count` elements that are folded into a State.
//
// A workgroup computes `rows` results with `lanes` invocations each. Adjacent lanes read adjacent elements (rows of memory) or adjacent
// results (columns), whichever reads memory in order. If there are few results, each is cut into chunks whose states go through slot 2.
// The including shader defines what a State means, and after the include start(), merge(), take() and finish().
// Slots: results in 0 and 1, states in 2, inputs from 3 on. Words and table as FoldPlan of fold.hpp passes them.
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint FLAT = 1;   // kept and reduced elements have constant strides
layout(constant_id = 3) const uint STAGE = 0;  // 0: elements to results, 1: elements to states, 2: states to results
layout(constant_id = 4) const uint BLOCKS = 0;
const bool QUADS = (BLOCKS & 1u) != 0;  // elements are contiguous, each result's aligned to four
const bool WHOLE = (BLOCKS & 2u) != 0;  // every block of a lane has four
const bool HEAVY = (BLOCKS & 8u) != 0;  // take() is long, so it is instantiated once
const bool IN_STEP = (BLOCKS & 16u) != 0;  // the invocations of a workgroup walk through memory together
const uint WIDE = (BLOCKS & 4u) != 0 ? 4 : 1;  // results in a lane: neighbours whose elements are read together
const uint KEPT = 0, COUNT = 1, CHUNK = 2, CHUNKS = 3, LOG_ROWS = 4, COLUMNS = 5, KEPT_STEP = 6, STEP = 7, NKEPT = 8,
           NREDUCED = 9, BIAS = 10;
const uint WORDS = 11;  // the op's own words begin here
const uint BLOCK = 4;   // elements taken at a time
const uint TOGETHER = 8;
#define TN_OPERANDS 1
#include "quads.glsl"

struct State { C a, b, c; uint at; };  // state.glsl stores the parts that are used

State start();
void merge(inout State s, State t);  // t covers other elements of the same result
// Takes elements r, r + step, … of result o, n <= BLOCK of them; `base` is where the result's elements begin.
void take(inout State s, uint o, uint base, uint r, uint step, uint n);
void finish(uint o, State s);
void park(uint i, State s);  // into shared memory
State fetch(uint i);
void put(uint i, uint size, State s);  // stores state i of `size` into slot 2
State get(uint i, uint size);

uint kept_place(uint o) {
  uint at = push.word[BIAS];
  if (FLAT != 0) return at + o * push.word[KEPT_STEP];
  for (uint d = push.word[NKEPT]; d-- > 0;) {
    const uint size = table(2 * d);
    at += o % size * table(2 * d + 1);
    o /= size;
  }
  return at;
}

uint reduced_place(uint r) {
  if (FLAT != 0) return r * push.word[STEP];
  uint at = 0;
  const uint first = push.word[NKEPT];
  for (uint d = first + push.word[NREDUCED]; d-- > first + 1;) {
    const uint size = table(2 * d);
    at += r % size * table(2 * d + 1);
    r /= size;
  }
  return at + r * table(2 * first + 1);
}

uint wide_column = 0;  // the result that a lane currently takes elements for; the first reads the elements of all

// The elements of a block for take(), with `none` after n.
#define TN_BLOCK(k)                                                                                          \
  TN_QUAD_LOAD(k)                                                                                            \
  Quad block##k[BLOCK];                                                                                      \
  void load_block##k(uint dtype, uint base, uint r, uint step, uint n, C none, out C v[BLOCK]) {             \
    if (WIDE != 1) {                                                                                         \
      [[unroll]] for (uint j = 0; j < BLOCK; ++j) {                                                          \
        if (wide_column == 0 && j < n)                                                                       \
          block##k[j] = load_quad##k(quad_words(dtype), (base + reduced_place(r + j * step)) / BLOCK);       \
        v[j] = j < n ? element(dtype, block##k[j], wide_column) : none;                                      \
      }                                                                                                      \
    } else if (QUADS && n == BLOCK) {                                                                        \
      const Quad quad = load_quad##k(quad_words(dtype), (base + reduced_place(r)) / BLOCK);                  \
      [[unroll]] for (uint j = 0; j < BLOCK; ++j) v[j] = element(dtype, quad, j);                            \
    } else {                                                                                                 \
      [[unroll]] for (uint j = 0; j < BLOCK; ++j) {                                                          \
        v[j] = none;                                                                                         \
        if (j < n) v[j] = load##k(dtype, base + reduced_place(r + j * step));                                \
      }                                                                                                      \
    }                                                                                                        \
  }
TN_BLOCK(3)
TN_BLOCK(4)

// Lane 0 gets the combined state: repeatedly combines eight into one.
void merge_lanes(inout State s, uint row, uint rows, uint lane, uint lanes) {
  do {
    const uint left = (lanes + 7) / 8;
    park(lane * rows + row, s);
    barrier();
    if (lane < left)
      for (uint k = lane + left; k < lanes; k += left) merge(s, fetch(k * rows + row));
    barrier();
    lanes = left;
  } while (lanes > 1);
}

void take_wide(inout State s[WIDE], uint o, uint base, uint r, uint step, uint n) {
  [[unroll]] for (uint c = 0; c < WIDE; ++c) {
    wide_column = c;
    take(s[c], o + c, base + c, r, step, n);
  }
}

void take_all(inout State s[WIDE], uint o, uint r, uint end, uint lanes) {
  const uint base = kept_place(o), step = QUADS ? 1 : lanes, rest = WHOLE || HEAVY ? 0 : (BLOCK - 1) * step;
  if (r + rest < end) do {
    const bool full = WHOLE || !HEAVY || r + (BLOCK - 1) * step < end;
    take_wide(s, o, base, r, step, full ? BLOCK : (end - r + step - 1) / step);
    r += BLOCK * lanes;
  } while (r + rest < end);
  if (!WHOLE && !HEAVY && r < end) take_wide(s, o, base, r, step, (end - r + step - 1) / step);
}

// For contiguous elements, eight lanes walk along one stretch: they read whole cache lines in order.
void take_chunk(inout State s[WIDE], uint o, uint begin, uint end, uint lane, uint lanes) {
  if (push.word[COLUMNS] == 0 && lanes > TOGETHER) {
    const uint turn = BLOCK * TOGETHER, stretch = (push.word[CHUNK] / (lanes / TOGETHER) + turn - 1) / turn * turn;
    begin += lane / TOGETHER * stretch;
    end = min(end, begin + stretch);
    lane %= TOGETHER, lanes = TOGETHER;
  }
  take_all(s, o, begin + (QUADS ? BLOCK * lane : lane), end, lanes);
}

void merge_chunks(inout State s, uint o, uint lane, uint lanes) {
  const uint kept = push.word[KEPT], chunks = push.word[CHUNKS];
  for (; lane < chunks; lane += lanes) merge(s, get(lane * kept + o, chunks * kept));
}

void main() {
  const uint kept = push.word[KEPT], chunks = push.word[CHUNKS], log_rows = push.word[LOG_ROWS];
  const uint rows = 1u << log_rows, lanes = gl_WorkGroupSize.x >> log_rows, me = gl_LocalInvocationID.x;
  const bool columns = push.word[COLUMNS] != 0;
  const uint row = columns ? me & (rows - 1) : me / lanes, lane = columns ? me >> log_rows : me & (lanes - 1);
  const uint blocks = (kept / WIDE + rows - 1) >> log_rows, total = STAGE == 2 ? blocks : blocks * chunks;
  uint work = gl_WorkGroupID.x;
  if (work < total) do {
    const uint o = (work % blocks * rows + row) * WIDE, chunk = work / blocks;
    State s[WIDE];
    [[unroll]] for (uint c = 0; c < WIDE; ++c) s[c] = start();
    if (STAGE == 2) {
      if (o < kept) merge_chunks(s[0], o, lane, lanes);
    } else {
      const uint end = min(push.word[COUNT], (chunk + 1) * push.word[CHUNK]), turn = IN_STEP ? 2 * BLOCK * lanes : push.word[CHUNK];
      uint begin = chunk * push.word[CHUNK];
      do {
        if (o < kept) take_chunk(s, o, begin, min(end, begin + turn), lane, lanes);
        if (IN_STEP) barrier();
      } while (IN_STEP && (begin += turn) < end);
    }
    [[unroll]] for (uint c = 0; c < WIDE; ++c) {
      if (lanes > 1) merge_lanes(s[c], row, rows, lane, lanes);
      if (lane == 0 && o < kept) {
        if (STAGE == 1) put(chunk * kept + o + c, chunks * kept, s[c]);
        else finish(o + c, s[c]);
      }
    }
  } while ((work += gl_NumWorkGroups.x) < total);
}
