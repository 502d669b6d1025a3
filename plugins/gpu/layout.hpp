// Strided loops, split into parts with 32-bit indices, and the positions of an element in the operands.
#pragma once

#include <functional>

#include "portable.hpp"
#include "tenon/plugin.h"

namespace tenon::gpu {

// Division by a number known before the launch, as multiplication and shift.
// After T. Granlund and P. L. Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994, Fig. 4.1.
struct Divider {
  uint32_t divisor = 1, multiplier = 1, first_shift = 0, shift = 0;
  Divider() = default;
  explicit Divider(uint32_t d);
  GPU_FN uint32_t divide(uint32_t n) const {
    const auto high = static_cast<uint32_t>(uint64_t{n} * multiplier >> 32);
    return (((n - high) >> first_shift) + high) >> shift;
  }
};

inline constexpr uint32_t kMostOperands = 6;

// A part of a loop with fewer than 2^31 elements; outermost dimension first.
struct LoopPart {
  uint32_t ndim = 0, operands = 0;
  uint32_t count = 0;
  uint32_t shape[TN_MAX_DIMS];
  int64_t strides[kMostOperands][TN_MAX_DIMS];
  int64_t start[kMostOperands] = {};  // elements from the operand's first
};
// Calls fn for each part; never for an empty loop.
void for_parts(const tn_loop& loop, uint32_t operands,
               const std::function<void(const LoopPart&)>& fn);

// Bit k: operand k is dense and every `together` elements of it are aligned; the other operands have a single element. 0: the part does not
// have this form.
uint32_t dense_operands(const LoopPart& part, const tn_view* const* views,
                        const uint32_t* element_bytes, uint32_t together);

// A part as a kernel argument.
template <uint32_t kOperands>
struct Layout {
  uint32_t ndim;
  Divider sizes[TN_MAX_DIMS];
  int64_t strides[kOperands][TN_MAX_DIMS];

  Layout() = default;
  explicit Layout(const LoopPart& part) : ndim(part.ndim) {
    for (uint32_t d = 0; d < ndim; ++d) sizes[d] = Divider(part.shape[d]);
    for (uint32_t k = 0; k < kOperands; ++k)
      for (uint32_t d = 0; d < ndim; ++d) strides[k][d] = part.strides[k][d];
  }
  // The positions of element i, in elements.
  GPU_FN void find(uint32_t i, int64_t* places) const {
    for (uint32_t k = 0; k < kOperands; ++k) places[k] = 0;
    for (uint32_t d = ndim; d-- > 0;) {
      const uint32_t rest = sizes[d].divide(i), digit = i - rest * sizes[d].divisor;
      for (uint32_t k = 0; k < kOperands; ++k) places[k] += digit * strides[k][d];
      i = rest;
    }
  }
};

}  // namespace tenon::gpu
