// Advanced indexing: finds where the blocks of a result (before, at, mid, inner) begin in x. PLACES_AT(b) gives at[b].
// Words from BLOCK_WORDS: positions, blocks of mid, dimensions of before, dimensions of mid. Table: sizes and steps of before, of mid.
#define POSITIONS push.word[BLOCK_WORDS]
#define MIDS push.word[BLOCK_WORDS + 1]

uint spread(uint i, uint first, uint ndim) {
  uint at = 0;
  for (uint d = ndim; d-- > 0;) {
    at += i % table(first + d) * table(first + ndim + d);
    i /= table(first + d);
  }
  return at;
}

uint block_place(uint block) {
  const uint before = push.word[BLOCK_WORDS + 2], mid = push.word[BLOCK_WORDS + 3], rest = block / MIDS;
  const uint at = PLACES_AT(rest % POSITIONS);
  if (at == NOWHERE) return NOWHERE;
  return at + spread(rest / POSITIONS, 0, before) + spread(block % MIDS, 2 * before, mid);
}
