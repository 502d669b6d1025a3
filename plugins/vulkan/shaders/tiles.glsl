// A tile of a matrix product: BM × BN sums in the registers of a workgroup, operands in shared memory, KT products deep.
// The including shader defines load_a(row, k) and load_b(k, column), which are only called inside m × n × k, and A_BY_K and B_BY_K: whether
// neighbours along k are contiguous.
layout(constant_id = 1) const uint TILE = 0;  // packed by tile_code() of ops/tiles.hpp
const uint RM = TILE & 31u, RN = (TILE >> 5) & 31u;                    // sums in an invocation
const uint TX = (TILE >> 10) & 255u, KT = (TILE >> 18) & 255u;         // invocations along a row; depth
const uint BN = RN * TX;

struct Extent { uint m, n, k; };

C load_a(uint row, uint k);
C load_b(uint k, uint column);

layout(constant_id = 2) const uint BM = 64;
const uint A_PITCH = BM + 1u, B_PITCH = BN + 1u;  // odd, so that neighbours never share a bank
shared C tile_a[KT * A_PITCH];
shared C tile_b[KT * B_PITCH];
C sums[RM * RN];

// Sums of the rows from m and columns from n over the products from k to end. All invocations of the workgroup must call it.
void multiply(Extent size, uint m, uint n, uint k, uint end) {
  const uint t = gl_LocalInvocationID.x, x = t % TX, y = t / TX, ty = BM / RM, group = TX * ty;
  [[unroll]] for (uint i = 0; i < RM * RN; ++i) sums[i] = C(0);
  if (k < end) do {
    uint e = t;
    if (e < KT * BM) do {
      const uint p = A_BY_K ? e % KT : e / BM, i = A_BY_K ? e / KT : e % BM;
      tile_a[p * A_PITCH + i] = m + i < size.m && k + p < end ? load_a(m + i, k + p) : C(0);
    } while ((e += group) < KT * BM);
    e = t;
    if (e < KT * BN) do {
      const uint p = B_BY_K ? e % KT : e / BN, j = B_BY_K ? e / KT : e % BN;
      tile_b[p * B_PITCH + j] = n + j < size.n && k + p < end ? load_b(k + p, n + j) : C(0);
    } while ((e += group) < KT * BN);
    barrier();
    uint p = 0;
    do {
      C a[RM], b[RN];
      [[unroll]] for (uint i = 0; i < RM; ++i) a[i] = tile_a[p * A_PITCH + y + i * ty];
      [[unroll]] for (uint j = 0; j < RN; ++j) b[j] = tile_b[p * B_PITCH + x + j * TX];
      [[unroll]] for (uint i = 0; i < RM; ++i)
        [[unroll]] for (uint j = 0; j < RN; ++j) sums[i * RN + j] += a[i] * b[j];
    } while (++p < KT);
    barrier();
  } while ((k += KT) < end);
}

// Runs `body` with `row`, `column` and `sum` for each sum of this invocation.
#define FOR_EACH_SUM(size, m0, n0, body)                                                         \
  [[unroll]] for (uint i_ = 0; i_ < RM; ++i_)                                                    \
    [[unroll]] for (uint j_ = 0; j_ < RN; ++j_) {                                                \
      const uint row = m0 + gl_LocalInvocationID.x / TX + i_ * (BM / RM);                        \
      const uint column = n0 + gl_LocalInvocationID.x % TX + j_ * TX;                            \
      const C sum = sums[i_ * RN + j_];                                                          \
      if (row < size.m && column < size.n) { body; }                                             \
    }
