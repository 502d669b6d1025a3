// Register tiles of the matrix product; included once for each instruction set.
#if defined(TENON_CPU_GEMM_TILE_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_GEMM_TILE_TOGGLE
#undef TENON_CPU_GEMM_TILE_TOGGLE
#else
#define TENON_CPU_GEMM_TILE_TOGGLE
#endif

#include "ops/gemm.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Instruction sets whose masked loads never touch what is masked off take ragged edges in place;
// the others get padded copies.
constexpr bool kMasks = HWY_MEM_OPS_MIGHT_FAULT == 0;
constexpr int kRegisters = HWY_MAX_BYTES == 64 || HWY_ARCH_ARM_A64 ? 32 : 16;

// Most rows of a tile of NV vectors: sums, NV vectors of b and one of a stay in registers.
constexpr int max_rows(int vectors) {
  const int rows = (kRegisters - vectors - 1) / vectors;
  return rows >= 12 ? 12 : rows >= 8 ? 8 : rows >= 6 ? 6 : 4;
}

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
};

template <class T, int R, int NV>
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
#pragma GCC unroll 3
    for (int j = 0; j < NV; ++j) sum[i][j] = hn::Zero(d);
  if (t.init != nullptr) {
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 3
      for (int j = 0; j < NV; ++j) {
        const T* p = t.init + i * t.init_row;
        sum[i][j] = t.init_step == 0 ? hn::Set(d, *p) : load(p, j);
      }
  }
  const T* HWY_RESTRICT a = t.a;
  const T* HWY_RESTRICT b = t.b;
  const int64_t a_row = t.a_row, a_col = t.a_col, b_row = t.b_row;
  for (int64_t p = t.k; p > 0; --p) {
    V right[NV];
#pragma GCC unroll 3
    for (int j = 0; j < NV; ++j) right[j] = load(b, j);
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i) {
      const V left = hn::Set(d, a[i * a_row]);
#pragma GCC unroll 3
      for (int j = 0; j < NV; ++j) sum[i][j] = hn::MulAdd(left, right[j], sum[i][j]);
    }
    a += a_col;
    b += b_row;
  }
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 3
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

template <class T, int NV>
HWY_INLINE int64_t run_rows(const Tile<T>& t, int64_t rows) {
  constexpr int kMost = max_rows(NV);
  if constexpr (kMost >= 12)
    if (rows >= 12) return run_tile<T, 12, NV>(t), 12;
  if constexpr (kMost >= 8)
    if (rows >= 8) return run_tile<T, 8, NV>(t), 8;
  if constexpr (kMost >= 6)
    if (rows >= 6) return run_tile<T, 6, NV>(t), 6;
  if (rows >= 4) return run_tile<T, 4, NV>(t), 4;
  if (rows >= 2) return run_tile<T, 2, NV>(t), 2;
  return run_tile<T, 1, NV>(t), 1;
}

// All rows of a panel of columns; `t` is moved down tile by tile.
template <class T>
HWY_INLINE void run_panel(Tile<T> t, int vectors, int64_t rows) {
  while (rows > 0) {
    const int64_t done = vectors == 1   ? run_rows<T, 1>(t, rows)
                         : vectors == 2 ? run_rows<T, 2>(t, rows)
                                        : run_rows<T, 3>(t, rows);
    rows -= done;
    t.a += done * t.a_row;
    t.c += done * t.c_row;
    if (t.init != nullptr) t.init += done * t.init_row;
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
