// Rows of memory, each handled by some lanes of a workgroup; launched by Rows of rows.hpp.
// If KEEP is not 0, a lane keeps its KEEP elements of the row between passes; otherwise each pass reads memory again. The shader
// names the slots it reads with TN_ITEMS(k).
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint IN = 11;
layout(constant_id = 3) const uint HOW = 4;
const uint KEEP = HOW & 255u;
const bool QUADS = (HOW & 256u) != 0;  // elements are taken in aligned fours
const bool FULL = (HOW & 512u) != 0;   // every lane has KEEP elements
const uint ROWS = 0, N = 1, LOG_ROWS = 2;
const uint WORDS = 3;  // the op's own words begin here
const uint ITEMS = KEEP == 0 ? 4 : KEEP;
#define TN_OPERANDS 1
#include "quads.glsl"

// Invocations in the order of their subgroups. These are of use if they are full, which drivers need not make them.
#ifdef TN_SUBGROUP
bool are_full() { return gl_NumSubgroups * gl_SubgroupSize == gl_WorkGroupSize.x; }
#define ME (are_full() ? gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID : gl_LocalInvocationID.x)
#else
#define ME gl_LocalInvocationID.x
#endif
uint lanes() { return gl_WorkGroupSize.x >> push.word[LOG_ROWS]; }
uint lane() { return ME & (lanes() - 1); }

// The code between the two runs for each block of the row, which begins at `first`. If elements are kept, there is one block.
#define FOR_BLOCKS(first, here) { uint first = QUADS ? 4 * lane() : lane(); if ((here) && first < push.word[N]) do {
#define NEXT_BLOCK(first) first += lanes() * ITEMS; } while (KEEP == 0 && first < push.word[N]); }
#define FOR_ITEMS(k) [[unroll]] for (uint k = 0; k < ITEMS; ++k)
// The position of a block's item k in the row.
uint place(uint first, uint k) { return QUADS ? first + (k & ~3u) * lanes() + (k & 3u) : first + k * lanes(); }
bool exists(uint first, uint k) { return FULL || place(first, k) < push.word[N]; }
bool is_kept(uint k) { return exists(QUADS ? 4 * lane() : lane(), k); }

// The items of a block, with `none` after the row's end.
#define TN_ITEMS(slot)                                                                                     \
  void load_items##slot(uint begin, uint first, C none, out C v[ITEMS]) {                                  \
    FOR_ITEMS(k) v[k] = none;                                                                              \
    if (QUADS) {                                                                                           \
      [[unroll]] for (uint k = 0; k < ITEMS; k += 4)                                                       \
        if (exists(first, k)) {                                                                            \
          const Quad x = load_quad##slot(quad_words(IN), (begin + place(first, k)) / 4);                   \
          [[unroll]] for (uint j = 0; j < 4; ++j) v[k + j] = element(IN, x, j);                            \
        }                                                                                                  \
    } else {                                                                                               \
      FOR_ITEMS(k) if (exists(first, k)) v[k] = load##slot(IN, begin + place(first, k));                   \
    }                                                                                                      \
  }

void store_items(uint begin, uint first, C v[ITEMS]) {
  if (QUADS) {
    [[unroll]] for (uint k = 0; k < ITEMS; k += 4) {
      Quad y;
      [[unroll]] for (uint j = 0; j < 8; ++j) y.w[j] = 0u;
      [[unroll]] for (uint j = 0; j < 4; ++j) put_element(IN, y, j, v[k + j]);
      if (exists(first, k)) store_quad0(quad_words(IN), (begin + place(first, k)) / 4, y);
    }
  } else {
    FOR_ITEMS(k) if (exists(first, k)) store0(IN, begin + place(first, k), v[k]);
  }
}

// Code between the two runs for each row of this invocation.
#define FOR_ROWS(row)                                                                        \
  uint work = gl_WorkGroupID.x;                                                              \
  if (work << push.word[LOG_ROWS] < push.word[ROWS]) do {                                    \
    const uint row = (work << push.word[LOG_ROWS]) + ME / lanes();
#define NEXT_ROW } while ((work += gl_NumWorkGroups.x) << push.word[LOG_ROWS] < push.word[ROWS]);

shared C row_shared[gl_WorkGroupSize.x];

// The end of the functions below: what `parts` values from `begin` on give together.
#define TN_FOLD(begin, parts, pick)                                                             \
    C a = row_shared[begin];                                                                    \
    uint k = 1;                                                                                 \
    do {                                                                                        \
      const C b = row_shared[begin + k];                                                        \
      a = pick;                                                                                 \
    } while (++k < parts);                                                                      \
    barrier();                                                                                  \
    return a;

// Combines the values of all lanes of a row and gives the result to each, in two steps if there are many lanes. All invocations must call
// it.
#define TN_TREE(name, pick)                                                                     \
  C name(C x) {                                                                                 \
    const uint all = lanes(), parts = all <= 8 ? all : 1u << (findMSB(all) / 2);                \
    if (all == 1) return x;                                                                     \
    const uint me = ME, begin = me - lane();                                                  \
    row_shared[me] = x;                                                                         \
    barrier();                                                                                  \
    if (parts < all) {                                                                          \
      C a = x;                                                                                  \
      uint k = lane() + parts;                                                                  \
      if (lane() < parts) do {                                                                  \
        const C b = row_shared[begin + k];                                                      \
        a = pick;                                                                               \
      } while ((k += parts) < all);                                                             \
      if (lane() < parts) row_shared[me] = a;                                                   \
      barrier();                                                                                \
    }                                                                                           \
    TN_FOLD(begin, parts, pick)                                                                 \
  }
#ifndef TN_SUBGROUP
TN_TREE(row_sum, a + b)
TN_TREE(row_max, a > b ? a : b)
#else
// The same: subgroups combine their values, then each lane those of its row's subgroups.
#define TN_JOIN(name, pick, whole)                                                              \
  TN_TREE(name##_tree, pick)                                                                    \
  C name(C x) {                                                                                 \
    const uint all = lanes(), parts = are_full() ? all / gl_SubgroupSize : 0u;                  \
    if (parts == 0) return name##_tree(x);                                                      \
    const C mine = whole(x);                                                                    \
    if (parts == 1) return mine;                                                                \
    if (subgroupElect()) row_shared[gl_SubgroupID] = mine;                                      \
    barrier();                                                                                  \
    const uint begin = gl_SubgroupID & ~(parts - 1);                                            \
    TN_FOLD(begin, parts, pick)                                                                 \
  }
TN_JOIN(row_sum, a + b, subgroupAdd)
TN_JOIN(row_max, a > b ? a : b, subgroupMax)
#endif
