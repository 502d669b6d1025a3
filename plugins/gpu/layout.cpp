#include "layout.hpp"

#include <algorithm>
#include <bit>

namespace tenon::gpu {
namespace {

constexpr int64_t kMostElements = INT32_MAX;

void visit(LoopPart& part, const int64_t* shape, const std::function<void(const LoopPart&)>& fn) {
  int64_t count = 1;
  uint32_t longest = 0;
  for (uint32_t d = 0; d < part.ndim; ++d) {
    count *= shape[d];
    if (shape[d] > shape[longest]) longest = d;
  }
  if (count == 0) return;
  if (count <= kMostElements) {
    part.count = static_cast<uint32_t>(count);
    for (uint32_t d = 0; d < part.ndim; ++d) part.shape[d] = static_cast<uint32_t>(shape[d]);
    return fn(part);
  }
  // Splits along the longest dimension, where alignment is kept.
  int64_t sizes[TN_MAX_DIMS];
  std::copy_n(shape, part.ndim, sizes);
  const int64_t half = shape[longest] / 2 > 64 ? shape[longest] / 2 / 64 * 64 : shape[longest] / 2;
  sizes[longest] = half;
  visit(part, sizes, fn);
  LoopPart second = part;
  for (uint32_t k = 0; k < part.operands; ++k) second.start[k] += half * part.strides[k][longest];
  sizes[longest] = shape[longest] - half;
  visit(second, sizes, fn);
}

}  // namespace

Divider::Divider(uint32_t d) : divisor(d) {
  const auto bits = static_cast<uint32_t>(std::bit_width(d - 1));  // ceil(log2 d)
  multiplier = static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << bits) - d)) / d + 1);
  first_shift = bits == 0 ? 0 : 1;
  shift = bits == 0 ? 0 : bits - 1;
}

void for_parts(const tn_loop& loop, uint32_t operands,
               const std::function<void(const LoopPart&)>& fn) {
  LoopPart part;
  part.operands = operands;
  part.ndim = std::max(loop.ndim, 1u);
  int64_t shape[TN_MAX_DIMS] = {1};
  std::copy_n(loop.shape, loop.ndim, shape);
  for (uint32_t k = 0; k < operands; ++k) {
    part.strides[k][0] = k == 0 ? 1 : 0;  // a loop without dimensions has one element
    std::copy_n(loop.strides[k], loop.ndim, part.strides[k]);
  }
  visit(part, shape, fn);
}

uint32_t dense_operands(const LoopPart& part, const tn_view* const* views,
                        const uint32_t* element_bytes, uint32_t together) {
  if (part.ndim != 1) return 0;
  uint32_t dense = 0;
  for (uint32_t k = 0; k < part.operands; ++k) {
    const int64_t stride = part.strides[k][0];
    if (stride == 0 && k > 0) continue;
    const auto first = reinterpret_cast<uintptr_t>(views[k]->data) +
                       static_cast<uintptr_t>(part.start[k]) * element_bytes[k];
    if (stride != 1 || first % (uint64_t{together} * element_bytes[k]) != 0) return 0;
    dense |= 1u << k;
  }
  return dense;
}

}  // namespace tenon::gpu
