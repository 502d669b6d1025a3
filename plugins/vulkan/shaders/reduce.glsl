// The engine of reductions: `kept` results, each of `count` elements that are folded into a State.
//
// A workgroup holds rows results with lanes invocations each. Elements lie along lanes (rows of memory) or results do (columns),
// whichever reads memory in order. Where there are few results, each is cut into chunks whose states go through slot 2.
// The includer says what a State is made of and defines start(), merge(), take() and finish() behind.
// Slots: results in 0 and 1, states in 2, inputs from 3 on. Words and table as FoldPlan of fold.hpp gives them.
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint FLAT = 1;   // kept and reduced elements lie at even steps
layout(constant_id = 3) const uint STAGE = 0;  // 0: elements to results, 1: elements to states, 2: states to results
const uint KEPT = 0, COUNT = 1, CHUNK = 2, CHUNKS = 3, LOG_ROWS = 4, COLUMNS = 5, KEPT_STEP = 6, STEP = 7, NKEPT = 8,
           NREDUCED = 9, BIAS = 10;
const uint WORDS = 11;  // what the op adds begins here
const uint BLOCK = 4;   // elements taken at a time

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
        for (uint r = begin + lane; r < end; r += BLOCK * lanes)
          take(s, o, base, r, lanes, r + (BLOCK - 1) * lanes < end ? BLOCK : (end - r + lanes - 1) / lanes);
      }
    }
    if (lanes > 1) {
      const uint at = lane * rows + row;
      park(at, s);
      for (uint half_lanes = lanes / 2; half_lanes > 0; half_lanes /= 2) {
        barrier();
        if (lane < half_lanes) {
          merge(s, fetch(at + half_lanes * rows));
          park(at, s);
        }
      }
      barrier();
    }
    if (lane != 0 || o >= kept) continue;
    if (STAGE == 1) put(chunk * kept + o, chunks * kept, s);
    else finish(o, s);
  }
}
