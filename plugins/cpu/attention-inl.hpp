// What attention and its backward share: operands of any strides as tiles of rows, keys and values packed for products from the
// right, rows of scores under the mask. Included once for each instruction set, inside no namespace.
#include <algorithm>
#include <cstdint>

#include "../common/attention_call.hpp"
#include "exp-inl.hpp"
#include "ops/matmul_gemm.hpp"
#include "ops/matmul_gemm_pack-inl.h"
#include "ops/workspace.hpp"

#if defined(TENON_CPU_ATTENTION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_ATTENTION_INL
#undef TENON_CPU_ATTENTION_INL
#else
#define TENON_CPU_ATTENTION_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// A tile of scores: it stays in L2, and kKeys rows of 64 floats in L1.
constexpr int64_t kQueries = 192, kKeys = 128;

constexpr int64_t tiles_of(int64_t n, int64_t tile) { return (n + tile - 1) / tile; }
// Elements of the packed copy of (keys, width).
constexpr int64_t packed_size(int64_t keys, int64_t width) {
  return tiles_of(keys, kKeys) * kKeys * width;
}

// One head of an operand: rows of `width` elements.
template <class T>
struct HeadRows {
  const T* at;
  int64_t row, column, width;

  HeadRows(const tn_view& x, int64_t batch, int64_t head)
      : at(static_cast<const T*>(x.data) + batch * x.strides[0] + head * x.strides[1]),
        row(x.strides[2]),
        column(x.strides[3]),
        width(x.shape[3]) {}

  // Rows [first, first + n), times `factor`, side by side.
  void copy(int64_t first, int64_t n, Compute<T> factor, Compute<T>* to) const {
    const auto times = hn::Set(LaneTag<T>(), factor);
    for (int64_t i = 0; i < n; ++i, to += width) {
      const T* const from = at + (first + i) * row;
      if (column == 1) {
        map_row(from, to, static_cast<size_t>(width),
                [=](auto v) HWY_ATTR { return hn::Mul(v, times); });
      } else {
        for (int64_t e = 0; e < width; ++e)
          to[e] = static_cast<Compute<T>>(from[e * column]) * factor;
      }
    }
  }
};

// The right side of a product in Compute<T>: element (p, j) at at[p·row + j·column].
template <class C>
struct Right {
  const C* at;
  int64_t row, column;
  Right transposed() const { return {at, column, row}; }
};

// Rows [first, first + n) of a head as they lie, or widened into `room`.
template <class T>
Right<Compute<T>> rows_of(const HeadRows<T>& x, int64_t first, int64_t n, Compute<T>* room) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return {x.at + first * x.row, x.row, x.column};
  } else {
    x.copy(first, n, 1, room);
    return {room, x.width, 1};
  }
}

// Rows [first, first + n) transposed: (width, kKeys), columns from n on zero.
template <class C>
void pack_rows(const Right<C>& rows, int64_t width, int64_t n, C* to) {
  pack_panel(rows.at, rows.column, rows.row, width, n, kKeys, to);
}

// c (m, n), rows c_row apart, is a·b, or grows by it.
template <class C>
void multiply(int64_t m, int64_t n, int64_t k, const Right<C>& a, const Right<C>& b, C* c,
              int64_t c_row, bool accumulate) {
  gemm(Gemm<C>{.m = m,
               .n = n,
               .k = k,
               .a = a.at,
               .a_row = a.row,
               .a_col = a.column,
               .b = b.at,
               .b_row = b.row,
               .b_col = b.column,
               .c = c,
               .c_row = c_row,
               .accumulate = accumulate},
       GemmBlock{0, m, 0, n});
}

// What mask and causality make of scores.
template <class T>
struct ScoreMask {
  const bool* allowed = nullptr;  // either, or none
  const T* bias = nullptr;
  int64_t row, column;
  bool causal;

  ScoreMask(const AttentionCall& call, int64_t batch, int64_t head)
      : row(call.mask_strides[2]), column(call.mask_strides[3]), causal(call.causal) {
    if (call.mask == nullptr) return;
    const int64_t at = batch * call.mask_strides[0] + head * call.mask_strides[1];
    if (call.mask->dtype == TN_DTYPE_BOOL)
      allowed = static_cast<const bool*>(call.mask->data) + at;
    else
      bias = static_cast<const T*>(call.mask->data) + at;
  }

  // Scores of one query for the n keys from `key` on.
  void apply(Compute<T>* scores, int64_t n, int64_t query, int64_t key) const {
    constexpr auto kForbidden = -std::numeric_limits<Compute<T>>::infinity();
    if (causal && query < key + n - 1) {
      const int64_t seen = std::max<int64_t>(0, query + 1 - key);
      std::fill(scores + seen, scores + n, kForbidden);
      n = seen;
    }
    const int64_t at = query * row + key * column;
    if (allowed != nullptr) {
      for (int64_t j = 0; j < n; ++j) scores[j] = allowed[at + j * column] ? scores[j] : kForbidden;
    } else if (bias != nullptr && column == 1) {
      map_rows(scores, bias + at, scores, static_cast<size_t>(n),
               [](auto score, auto more) HWY_ATTR { return hn::Add(score, more); });
    } else if (bias != nullptr) {
      for (int64_t j = 0; j < n; ++j) scores[j] += static_cast<Compute<T>>(bias[at + j * column]);
    }
  }
};

// The keys that queries before `end` see.
inline int64_t keys_seen(const AttentionCall& call, int64_t end) {
  return call.causal ? std::min(call.keys(), end) : call.keys();
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
