#include "dispatch/loop.hpp"

#include <algorithm>
#include <cstdlib>

namespace tenon::core {
namespace {

bool is_scalar(const tn_view& view) { return (view.flags & TN_VIEW_SCALAR) != 0; }

// Stride of `view` along dimension d of a shape of rank `rank` that it is broadcast to.
int64_t broadcast_stride(const tn_view& view, uint32_t rank, uint32_t d) {
  if (is_scalar(view)) return 0;
  uint32_t skip = rank - view.ndim;
  if (d < skip || view.shape[d - skip] == 1) return 0;
  return view.strides[d - skip];
}

}  // namespace

void Loop::begin(uint32_t noperands) {
  loop_.struct_size = sizeof(tn_loop);
  loop_.ndim = 0;
  loop_.reduced = 0;
  loop_.noperands = noperands;
  loop_.shape = shape_;
  loop_.strides = pointers_;
  for (uint32_t k = 0; k < noperands; ++k) pointers_[k] = strides_[k];
  contiguous_ = false;
}

bool Loop::try_contiguous(std::span<const int64_t> shape,
                          std::span<const tn_view* const> operands) {
  int64_t numel = 1;
  for (int64_t size : shape) numel *= size;
  for (const tn_view* view : operands) {
    if (is_scalar(*view)) continue;
    if ((view->flags & TN_VIEW_CONTIGUOUS) == 0) return false;
    int64_t own = 1;
    for (uint32_t d = 0; d < view->ndim; ++d) own *= view->shape[d];
    if (own != numel) return false;
  }
  loop_.ndim = 1;
  shape_[0] = numel;
  for (size_t k = 0; k < operands.size(); ++k) strides_[k][0] = is_scalar(*operands[k]) ? 0 : 1;
  contiguous_ = true;
  return true;
}

// Largest strides outermost; a stable insertion sort, since there are few dimensions and they
// are nearly sorted.
void Loop::sort(uint32_t from, uint32_t to, uint32_t operand) {
  for (uint32_t i = from + 1; i < to; ++i)
    for (uint32_t j = i;
         j > from && std::abs(strides_[operand][j - 1]) < std::abs(strides_[operand][j]); --j) {
      std::swap(shape_[j - 1], shape_[j]);
      for (uint32_t k = 0; k < loop_.noperands; ++k) std::swap(strides_[k][j - 1], strides_[k][j]);
    }
}

// Merges neighbours in [from, to) that every operand walks as one, packs them from `at` on and
// returns the end.
uint32_t Loop::merge(uint32_t from, uint32_t to, uint32_t at) {
  uint32_t first = at;
  for (uint32_t d = from; d < to; ++d) {
    bool joins = at > first;
    for (uint32_t k = 0; joins && k < loop_.noperands; ++k)
      joins = strides_[k][at - 1] == strides_[k][d] * shape_[d];
    uint32_t target = joins ? at - 1 : at++;
    shape_[target] = joins ? shape_[target] * shape_[d] : shape_[d];
    for (uint32_t k = 0; k < loop_.noperands; ++k) strides_[k][target] = strides_[k][d];
  }
  return at;
}

void Loop::elementwise(std::span<const int64_t> shape, std::span<const tn_view* const> operands) {
  begin(static_cast<uint32_t>(operands.size()));
  if (try_contiguous(shape, operands)) return;
  auto rank = static_cast<uint32_t>(shape.size());
  uint32_t n = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    if (shape[d] == 1) continue;
    shape_[n] = shape[d];
    for (size_t k = 0; k < operands.size(); ++k)
      strides_[k][n] = broadcast_stride(*operands[k], rank, d);
    ++n;
  }
  sort(0, n, 0);
  loop_.ndim = merge(0, n, 0);
  // Dense operands of one layout are a single run of memory, whatever the order of their dimensions.
  contiguous_ = loop_.ndim == 1;
  for (size_t k = 0; contiguous_ && k < operands.size(); ++k)
    contiguous_ = strides_[k][0] == (is_scalar(*operands[k]) ? 0 : 1);
}

void Loop::reduce(std::span<const tn_view* const> operands, uint32_t mask, bool ordered) {
  auto last = static_cast<uint32_t>(operands.size() - 1);
  begin(last + 1);
  const tn_view& x = *operands[last];
  // Row-major steps of the kept dimensions, which is how fresh outputs lie.
  int64_t out_step[TN_MAX_DIMS];
  int64_t step = 1;
  for (uint32_t d = x.ndim; d-- > 0;) {
    out_step[d] = (mask >> d & 1) != 0 ? 0 : step;
    if ((mask >> d & 1) == 0) step *= x.shape[d];
  }
  uint32_t n = 0, kept = 0;
  for (uint32_t pass = 0; pass < 2; ++pass) {
    for (uint32_t d = 0; d < x.ndim; ++d) {
      if ((mask >> d & 1) != pass || x.shape[d] == 1) continue;
      shape_[n] = x.shape[d];
      for (uint32_t k = 0; k < last; ++k) strides_[k][n] = out_step[d];
      strides_[last][n] = x.strides[d];
      ++n;
    }
    if (pass == 0) kept = n;
  }
  if (!ordered) sort(kept, n, last);
  uint32_t kept_end = merge(0, kept, 0);
  loop_.ndim = merge(kept, n, kept_end);
  loop_.reduced = loop_.ndim - kept_end;
}

}  // namespace tenon::core
