// Rows of memory, each worked on by the lanes of a part of a workgroup: launched by Rows of rows.hpp.
// Where KEEP is not 0, a lane keeps its KEEP elements of the row between passes; otherwise each pass reads memory again.
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint IN = 11;
layout(constant_id = 3) const uint KEEP = 4;
const uint ROWS = 0, N = 1, LOG_ROWS = 2;
const uint WORDS = 3;  // what the op adds begins here
const uint ITEMS = KEEP == 0 ? 4 : KEEP;

uint lanes() { return gl_WorkGroupSize.x >> push.word[LOG_ROWS]; }
uint lane() { return gl_LocalInvocationID.x & (lanes() - 1); }

// Element i of the row is item k of the lane; in a `for` over `first`, which is passed once where elements are kept.
#define FOR_BLOCKS(first) for (uint first = lane(); first < push.word[N]; first += lanes() * ITEMS)
#define FOR_ITEMS(k) [[unroll]] for (uint k = 0; k < ITEMS; ++k)
#define PLACE(first, k) (first + k * lanes())

// The row of this invocation in the workgroup's turn `work`.
#define FOR_ROWS(row, work)                                                                                  \
  for (uint work = gl_WorkGroupID.x, row = 0;                                                                \
       row = (work << push.word[LOG_ROWS]) + gl_LocalInvocationID.x / lanes(), work << push.word[LOG_ROWS] < push.word[ROWS]; \
       work += gl_NumWorkGroups.x)

shared C row_shared[gl_WorkGroupSize.x];

// Every lane gets what the lanes of its row have together, in two steps. All invocations come here.
#define TN_TREE(name, pick)                                                                     \
  C name(C x) {                                                                                 \
    if (lanes() == 1) return x;                                                                 \
    const uint me = gl_LocalInvocationID.x, begin = me - lane(), parts = min(lanes(), 16u);     \
    row_shared[me] = x;                                                                         \
    barrier();                                                                                  \
    if (lane() < parts) {                                                                       \
      C a = x;                                                                                  \
      for (uint k = lane() + parts; k < lanes(); k += parts) {                                  \
        const C b = row_shared[begin + k];                                                      \
        a = pick;                                                                               \
      }                                                                                         \
      row_shared[me] = a;                                                                       \
    }                                                                                           \
    barrier();                                                                                  \
    C a = row_shared[begin];                                                                    \
    for (uint k = 1; k < parts; ++k) {                                                          \
      const C b = row_shared[begin + k];                                                        \
      a = pick;                                                                                 \
    }                                                                                           \
    barrier();                                                                                  \
    return a;                                                                                   \
  }
TN_TREE(row_sum, a + b)
TN_TREE(row_max, a > b ? a : b)
