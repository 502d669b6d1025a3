// The canonical iteration space of a call (tn_loop), built from the operands' views.
#pragma once

#include <span>

#include "tenon/plugin.h"

namespace tenon::core {

constexpr uint32_t kMaxOperands = 8;

class Loop {
 public:
  // Operands: outputs first, then inputs, each broadcast to `shape`. Memory is visited in the order of operand 0.
  void elementwise(std::span<const int64_t> shape, std::span<const tn_view* const> operands);
  // Operand 0 to n-2 are outputs whose elements run over the kept dimensions of the last operand in order, the last one is reduced
  // over the dimensions of `mask`. `ordered` keeps the order of reduced dimensions.
  void reduce(std::span<const tn_view* const> operands, uint32_t mask, bool ordered);

  const tn_loop* get() const { return &loop_; }
  bool contiguous() const { return contiguous_; }

 private:
  void begin(uint32_t noperands);
  bool try_contiguous(std::span<const int64_t> shape, std::span<const tn_view* const> operands);
  void sort(uint32_t from, uint32_t to, uint32_t operand);
  uint32_t merge(uint32_t from, uint32_t to, uint32_t at);

  tn_loop loop_;
  bool contiguous_;
  int64_t shape_[TN_MAX_DIMS];
  int64_t strides_[kMaxOperands][TN_MAX_DIMS];
  const int64_t* pointers_[kMaxOperands];
};

}  // namespace tenon::core
