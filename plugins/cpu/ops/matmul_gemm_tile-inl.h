// Register tiles of the matrix product; included once for each instruction set.
#if defined(TENON_CPU_GEMM_TILE_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_GEMM_TILE_TOGGLE
#undef TENON_CPU_GEMM_TILE_TOGGLE
#else
#define TENON_CPU_GEMM_TILE_TOGGLE
#endif

#include <hwy/cache_control.h>

#include "ops/matmul_gemm.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Instruction sets whose masked loads never touch what is masked off take ragged edges in place;
// the others get padded copies.
constexpr bool kMasks = HWY_MEM_OPS_MIGHT_FAULT == 0;
constexpr int kRegisters = HWY_MAX_BYTES == 64 || HWY_ARCH_ARM_A64 ? 32 : 16;

// Vectors of the tiles that read least for what they multiply: with AVX-512 eight rows of three, not twelve of two.
constexpr int64_t kTileVectors = HWY_MAX_BYTES == 64 ? 3 : 2;

// Most rows of a tile of NV vectors: sums, NV vectors of b and one of a stay in registers.
constexpr int max_rows(int vectors) {
  const int rows = (kRegisters - vectors - 1) / vectors;
  return rows >= 12 ? 12 : rows >= 8 ? 8 : rows >= 6 ? 6 : 4;
}

// How a tile walks its operands.
enum class Walk {
  Strides,  // both by strides
  Panels,   // likewise, while the next panel of b comes into the cache
  TapsOfB,  // product p reads b at b_at[p]: an unfolded image that was never written out
  TapsOfA,  // row i reads a at a_at[i], `lines` stretches of k products that are k + a_skip apart
};

// What is wanted soon, brought into L2 some pieces of 64 bytes at a time.
template <class T>
struct Coming {
  const T* from = nullptr;
  int64_t pitch = 0, lines = 0, length = 0;  // lines of `length` numbers
  int64_t each = 0;
  int64_t at = 0;

  void fetch() {
    for (int64_t i = 0; i < each && lines > 0; ++i) {
      __builtin_prefetch(from + at, 0, 2);
      at += 64 / static_cast<int64_t>(sizeof(T));
      if (at >= length) at = 0, from += pitch, --lines;
    }
  }
};

template <class T>
struct Tile {
  int64_t k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row;
  const T* init;  // NULL: zeros; a row of it for each row of c, or, with init_step 0, one value
  int64_t init_row, init_step;
  int64_t last;  // columns of the last vector
  bool relu;
  const int32_t* b_at = nullptr;
  const int32_t* a_at = nullptr;
  int64_t lines = 1, a_skip = 0;
  bool fetch = false;  // c is far away: bring the next rows
  Coming<T> coming = {};
  const char* next = nullptr;  // of Panels: what each product brings, this many bytes further on
  int64_t next_step = 0;
};

template <class T, int R, int NV, Walk W>
HWY_NOINLINE void run_tile(const Tile<T>& t) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mask = hn::FirstN(d, static_cast<size_t>(t.last));
  const auto load = [&](const T* p, int j) HWY_ATTR {
    if constexpr (kMasks)
      return j + 1 == NV ? hn::MaskedLoad(mask, d, p + j * lanes) : hn::LoadU(d, p + j * lanes);
    else
      return hn::LoadU(d, p + j * lanes);
  };
  V sum[R][NV];
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 6
    for (int j = 0; j < NV; ++j) sum[i][j] = hn::Zero(d);
  if (t.init != nullptr) {
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 6
      for (int j = 0; j < NV; ++j) {
        const T* p = t.init + i * t.init_row;
        sum[i][j] = t.init_step == 0 ? hn::Set(d, *p) : load(p, j);
      }
  }
  const T* HWY_RESTRICT a = t.a;
  const T* HWY_RESTRICT b = t.b;
  const int64_t a_row = t.a_row, a_col = t.a_col, b_row = t.b_row;
  int64_t at[R];
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i) at[i] = W == Walk::TapsOfA ? t.a_at[i] : i * a_row;
  const int64_t lines = W == Walk::TapsOfA ? t.lines : 1;
  const char* next = t.next;
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t p = 0; p < t.k; ++p) {
      const T* HWY_RESTRICT from = W == Walk::TapsOfB ? b + t.b_at[p] : b;
      if constexpr (W == Walk::Panels) {
        __builtin_prefetch(next, 0, 2);
        next += t.next_step;
      }
      V right[NV];
#pragma GCC unroll 6
      for (int j = 0; j < NV; ++j) right[j] = load(from, j);
#pragma GCC unroll 12
      for (int i = 0; i < R; ++i) {
        const V left = hn::Set(d, a[W == Walk::TapsOfA ? at[i] : i * a_row]);
#pragma GCC unroll 6
        for (int j = 0; j < NV; ++j) sum[i][j] = hn::MulAdd(left, right[j], sum[i][j]);
      }
      a += W == Walk::Strides || W == Walk::Panels ? a_col : 1;
      if (W != Walk::TapsOfB) b += b_row;
    }
    if (W == Walk::TapsOfA) a += t.a_skip;
  }
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 6
    for (int j = 0; j < NV; ++j) {
      V v = sum[i][j];
      if (t.relu) v = hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Zero(d), v);  // a NaN stays
      T* p = t.c + i * t.c_row + j * lanes;
      if (kMasks && j + 1 == NV)
        hn::BlendedStore(v, mask, d, p);
      else
        hn::StoreU(v, d, p);
    }
}

// The tallest tile that fits and leaves more than one row, which would have too few sums to hide
// the latency of a product. Row pointers of taps take registers of their own.
template <class T, int NV, Walk W>
HWY_INLINE int64_t run_rows(const Tile<T>& t, int64_t rows) {
  constexpr int kMost = W == Walk::TapsOfA && max_rows(NV) > 8 ? 8 : max_rows(NV);
  const auto fits = [rows](int tile) { return rows >= tile && (rows != tile + 1 || tile <= 2); };
  if constexpr (kMost >= 12)
    if (fits(12)) return run_tile<T, 12, NV, W>(t), 12;
  if constexpr (kMost >= 8)
    if (fits(8)) return run_tile<T, 8, NV, W>(t), 8;
  if constexpr (kMost >= 6)
    if (fits(6)) return run_tile<T, 6, NV, W>(t), 6;
  if (fits(4)) return run_tile<T, 4, NV, W>(t), 4;
  if (fits(3)) return run_tile<T, 3, NV, W>(t), 3;
  if (rows >= 2) return run_tile<T, 2, NV, W>(t), 2;
  return run_tile<T, 1, NV, W>(t), 1;
}

// All rows of a panel of columns; `t` is moved down tile by tile.
template <Walk W = Walk::Strides, class T>
HWY_INLINE void run_panel(Tile<T>& t, int vectors, int64_t rows) {
  while (rows > 0) {
    t.coming.fetch();
    if (t.fetch)
      for (int64_t i = 12; i < 24 && i < rows; ++i)
        for (int j = 0; j < vectors; ++j) hwy::Prefetch(t.c + i * t.c_row + j * 16);
    const int64_t done = vectors == 1   ? run_rows<T, 1, W>(t, rows)
                         : vectors == 2 ? run_rows<T, 2, W>(t, rows)
                                        : run_rows<T, 3, W>(t, rows);
    rows -= done;
    if constexpr (W == Walk::TapsOfA)
      t.a_at += done;
    else
      t.a += done * t.a_row;
    t.c += done * t.c_row;
    if constexpr (W == Walk::Panels) t.next += t.k * t.next_step;
    if (t.init != nullptr) t.init += done * t.init_row;
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
