// What the normalisations share: statistics, sums for gradients, and the final pass over the elements.
#pragma once

#include "fold.hpp"

namespace tenon::gpu {

// The dtype of statistics and parameters: the one in which x is computed.
inline tn_dtype statistic_of(tn_dtype x) { return x == TN_DTYPE_F64 ? TN_DTYPE_F64 : TN_DTYPE_F32; }

// Element i uses parameter number i / step % count.
struct Cycle {
  int64_t step = 1, count = 1;
  Divider by_step, by_count;
  Cycle() = default;
  Cycle(int64_t step_, int64_t count_);
  GPU_FN int64_t operator()(int64_t i) const {
    if (i >> 31 != 0) return i / step % count;
    const uint32_t k = by_step.divide(static_cast<uint32_t>(i));
    return k - by_count.divide(k) * by_count.divisor;
  }
};

// A tensor, or scratch memory in the computed type, or nothing.
struct Slot {
  const tn_view* view = nullptr;
  int64_t offset = -1;  // bytes
  int64_t count = 0;
};
template <class C>
Ptr<C> bind(const tn_call& call, const Slot& place) {
  using Value = std::remove_const_t<C>;
  if (place.view != nullptr) return pointer<C>(*place.view);
  if (place.offset < 0) return Ptr<C>(nullptr);
  return scratch<Value>(call, static_cast<uint64_t>(place.offset), place.count);
}

// The mean of each result, if wanted, and 1 / √(variance + eps); if not wanted, 1 / √(mean x² + eps).
void run_statistics(const tn_call& call, const FoldShape& fold, const tn_view& x, const Slot& mean,
                    const Slot& rstd, double eps, uint64_t scratch_at = 0);

// Σ g·weight·x̂ and Σ g·weight, each multiplied by `over`.
struct PairSums {
  const tn_view *g, *x, *mean, *rstd;  // mean NULL: 0
  const tn_view* weight = nullptr;     // by reduced element, or NULL
  bool by_element = false;             // statistics belong to reduced elements
  int64_t share = 1;                   // otherwise this many results share one
  double over = 1;
  Slot dots = {}, sums = {};  // sums may be missing
  bool narrow = false;        // both are tensors of x's half type
};
void run_pairs(const tn_call& call, const FoldShape& fold, const PairSums& pairs,
               uint64_t scratch_at);

// y = (x - mean)·rstd·weight + bias; or with g: gx = rstd·(g·weight - a - x̂·b).
struct Apply {
  const tn_view* x;
  const tn_view* mean;  // NULL: 0
  const tn_view* rstd;
  const tn_view* weight = nullptr;
  const tn_view* bias = nullptr;
  const tn_view* g = nullptr;
  Slot a = {}, b = {};  // a may be missing
};
void run_apply(const tn_call& call, const Apply& apply, const Cycle& statistics,
               const Cycle& parameters);

// Normalises rows that fit into a block in one pass; false if they do not fit. Element i of row r has parameter r % groups · width + i /
// inner.
struct NormRows {
  const tn_view *x, *y, *mean, *rstd, *weight, *bias;  // mean NULL: rms_norm
  int64_t rows, n;
  double eps;
  int64_t groups = 1, width = 0, inner = 1;
  const tn_view *residual = nullptr, *sum = nullptr;  // added to x first; where the sum goes
};
bool norm_rows_fit(tn_dtype dtype, int64_t rows, int64_t n);
void run_norm_rows(const tn_call& call, const NormRows& rows);

}  // namespace tenon::gpu
