// Parts shared by ops that take indices along a dimension.
#pragma once

#include "ops/operands.hpp"
#include "tenon/schemas.h"

namespace tenon::core {

// What gather, scatter, index_select and other ops of (x, dim, index, …) have in common; `dim` is wrapped.
struct IndexedDim {
  using arg = tenon::arg::gather;
  tn_tensor &x, &index;
  uint32_t dim;
  explicit IndexedDim(Frame& frame)
      : x(operand(frame, arg::x)),
        index(index_operand(frame, arg::index)),
        dim(fix_dim(frame, arg::dim, x.ndim())) {
    frame.raise(arg::x);
    frame.raise(arg::index);
  }
  // x's sizes, with one place along dim for each element of the index, a vector.
  Dims selected(const Frame& frame) const {
    require_rank(frame, arg::index, 0, 1);
    Dims shape(x.sizes());
    if (shape.n != 0)
      shape[dim] = index.numel;
    else
      frame.require(index.numel == 1, "{} indices into a tensor of rank 0, which takes one",
                    index.numel);
    return shape;
  }
};

// The sizes an op works along: rank 0 counts as (1,).
inline std::span<const int64_t> raised(std::span<const int64_t> sizes) {
  static constexpr int64_t kOne = 1;
  return sizes.empty() ? std::span(&kOne, 1) : sizes;
}

// Requires that index be no larger than `other`, except along `dim`.
inline void require_within(const Frame& frame, const tn_tensor& index,
                           std::span<const int64_t> other, int64_t dim, std::string_view what) {
  const auto have = raised(index.sizes()), room = raised(other);
  bool fits = have.size() == room.size();
  for (uint32_t d = 0; fits && d < have.size(); ++d) fits = d == dim || have[d] <= room[d];
  frame.require(fits, "index {} reaches beyond {} {}", format_shape(index.sizes()), what,
                format_shape(other));
}

// Source values take the dtype of the tensor that they are put into.
inline void take_dtype(Frame& frame, uint32_t i, tn_dtype dtype) {
  if (!frame.is_tensor(i) || frame.tensor(i).dtype() != dtype) frame.cast(i, dtype);
}

}  // namespace tenon::core
