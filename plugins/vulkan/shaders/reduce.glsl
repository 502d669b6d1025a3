// The engine of reductions: `kept` results, each of `count` elements that are folded into a State.
//
// A workgroup holds rows results with lanes invocations each. Elements lie along lanes (rows of memory) or results do (columns),
// whichever reads memory in order. Where there are few results, each is cut into chunks whose states go through slot 2.
// The includer says what a State is made of and defines start(), merge(), take() and finish() behind.
// Slots: results in 0 and 1, states in 2, inputs from 3 on. Words and table as FoldPlan of fold.hpp gives them.
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint FLAT = 1;   // kept and reduced elements lie at even steps
layout(constant_id = 3) const uint STAGE = 0;  // 0: elements to results, 1: elements to states, 2: states to results
layout(constant_id = 4) const uint QUADS = 0;  // elements lie side by side, each result's from a boundary of four
const uint KEPT = 0, COUNT = 1, CHUNK = 2, CHUNKS = 3, LOG_ROWS = 4, COLUMNS = 5, KEPT_STEP = 6, STEP = 7, NKEPT = 8,
           NREDUCED = 9, BIAS = 10;
const uint WORDS = 11;  // what the op adds begins here
const uint BLOCK = 4;   // elements taken at a time
#define TN_OPERANDS 1
#include "quads.glsl"

struct State { C a, b, c; uint at; };  // state.glsl stores the parts that are used

State start();
void merge(inout State s, State t);  // t stands for other elements of the same result
// Elements r, r + step, … of result o, n <= BLOCK of them; `base` is where the result's elements begin.
void take(inout State s, uint o, uint base, uint r, uint step, uint n);
void finish(uint o, State s);
void park(uint i, State s);  // into shared memory
State fetch(uint i);
void put(uint i, uint size, State s);  // state i of so many into slot 2
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

// Elements of a block as take() has them, `none` for those behind n.
#define TN_BLOCK(k)                                                                                          \
  TN_QUAD_LOAD(k)                                                                                            \
  void load_block##k(uint dtype, uint base, uint r, uint step, uint n, C none, out C v[BLOCK]) {             \
    if (QUADS != 0 && n == BLOCK) {                                                                          \
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

// Lane 0 gets the state of all, in two steps.
void merge_lanes(inout State s, uint row, uint rows, uint lane, uint lanes) {
  const uint parts = min(lanes, 16u);
  park(lane * rows + row, s);
  barrier();
  if (lane < parts) {
    for (uint k = lane + parts; k < lanes; k += parts) merge(s, fetch(k * rows + row));
    park(lane * rows + row, s);
  }
  barrier();
  if (lane == 0)
    for (uint k = 1; k < parts; ++k) merge(s, fetch(k * rows + row));
  barrier();
}

void main() {
  const uint kept = push.word[KEPT], count = push.word[COUNT], chunks = push.word[CHUNKS], log_rows = push.word[LOG_ROWS];
  const uint rows = 1u << log_rows, lanes = gl_WorkGroupSize.x >> log_rows, me = gl_LocalInvocationID.x;
  const bool columns = push.word[COLUMNS] != 0;
  const uint row = columns ? me & (rows - 1) : me / lanes, lane = columns ? me >> log_rows : me & (lanes - 1);
  const uint blocks = (kept + rows - 1) >> log_rows, total = STAGE == 2 ? blocks : blocks * chunks;
  for (uint work = gl_WorkGroupID.x; work < total; work += gl_NumWorkGroups.x) {
    const uint o = work % blocks * rows + row, chunk = work / blocks;
    State s = start();
    if (o < kept) {
      if (STAGE == 2) {
        for (uint r = lane; r < chunks; r += lanes) merge(s, get(r * kept + o, chunks * kept));
      } else {
        const uint base = kept_place(o), begin = chunk * push.word[CHUNK];
        const uint end = min(count, begin + push.word[CHUNK]);
        const uint step = QUADS != 0 ? 1 : lanes;
        for (uint r = begin + (QUADS != 0 ? BLOCK * lane : lane); r < end; r += BLOCK * lanes)
          take(s, o, base, r, step, r + (BLOCK - 1) * step < end ? BLOCK : (end - r + step - 1) / step);
      }
    }
    if (lanes > 1) merge_lanes(s, row, rows, lane, lanes);
    if (lane != 0 || o >= kept) continue;
    if (STAGE == 1) put(chunk * kept + o, chunks * kept, s);
    else finish(o, s);
  }
}
