#include "ops/operands.hpp"

namespace tenon::core {

Dims ints_for(const Frame& frame, uint32_t i, uint32_t n) {
  auto given = frame.ints(i);
  frame.require(given.size() == n || given.size() == 1, "'{}' has {} entries, expected {} or 1",
                frame.op().schema.args[i].name, given.size(), n);
  Dims dims;
  for (uint32_t k = 0; k < n; ++k) dims.push(given.size() == 1 ? given[0] : given[k]);
  return dims;
}

uint32_t wrap_dim(const Frame& frame, int64_t dim, uint32_t rank) {
  int64_t bound = std::max<int64_t>(rank, 1);
  if (dim < -bound || dim >= bound) [[unlikely]]
    frame.fail(TN_OUT_OF_RANGE, "dim {} out of range for a tensor of rank {}", dim, rank);
  return static_cast<uint32_t>(dim < 0 ? dim + bound : dim);
}

uint32_t dim_mask(const Frame& frame, uint32_t i, uint32_t rank) {
  if (!frame.has(i)) return (1u << rank) - 1;
  uint32_t mask = 0;
  for (int64_t dim : frame.ints(i)) {
    uint32_t bit = 1u << wrap_dim(frame, dim, rank);
    frame.require((mask & bit) == 0, "dim {} is given twice", dim);
    mask |= bit;
  }
  return rank == 0 ? 0 : mask;
}

void require_rank(const Frame& frame, uint32_t i, uint32_t low, uint32_t high) {
  uint32_t rank = frame.tensor(i).ndim();
  if (rank >= low && rank <= high) return;
  std::string wanted = low == high ? std::to_string(low) : fmt::format("{} to {}", low, high);
  frame.fail(TN_INVALID_ARGUMENT, "'{}' has shape {}, expected rank {}",
             frame.op().schema.args[i].name, format_shape(frame.tensor(i).sizes()), wanted);
}

void require_dtype(const Frame& frame, uint32_t i, uint64_t mask, std::string_view what) {
  if (mask & TN_MASK(frame.tensor(i).dtype())) return;
  frame.fail(TN_INVALID_ARGUMENT, "'{}' has dtype {}, expected {}{}",
             frame.op().schema.args[i].name, dtype_name(frame.tensor(i).dtype()), what,
             storage_hint(frame.tensor(i).dtype()));
}

bool broadcast(std::span<const int64_t> a, std::span<const int64_t> b, Dims& shape) {
  if (a.size() < b.size()) std::swap(a, b);
  shape.assign(a);
  const size_t skip = a.size() - b.size();
  for (size_t d = 0; d < b.size(); ++d) {
    int64_t& size = shape[skip + d];
    if (size == b[d] || b[d] == 1) continue;
    if (size != 1) return false;
    size = b[d];
  }
  return true;
}

Dims broadcast_shapes(const Frame& frame, std::span<const int64_t> a, std::span<const int64_t> b) {
  Dims shape;
  if (!broadcast(a, b, shape))
    frame.fail(TN_INVALID_ARGUMENT, "shapes {} and {} do not broadcast", format_shape(a),
               format_shape(b));
  return shape;
}

void elementwise(Frame& frame, tn_dtype dtype) {
  frame.form = Form::Elementwise;
  bool first = true;
  for (uint32_t i = 0; i < frame.nargs(); ++i) {
    if (!frame.is_tensor(i)) continue;
    const auto sizes = frame.tensor(i).sizes();
    const Dims& shape = frame.result(0).shape;
    if (first)
      frame.result(0, dtype, sizes);
    else if (!same_dims(shape, sizes))
      frame.result(0, dtype, broadcast_shapes(frame, shape, sizes));
    first = false;
  }
  if (first) frame.result(0, dtype, {});
}

void reduce(Frame& frame, const tn_tensor& x, tn_dtype dtype, uint32_t mask, bool keepdim) {
  frame.reduces(mask);
  Dims shape;
  for (uint32_t d = 0; d < x.ndim(); ++d) {
    if ((mask >> d & 1) == 0)
      shape.push(x.shape()[d]);
    else if (keepdim)
      shape.push(1);
  }
  for (uint32_t k = 0; k < frame.nresults(); ++k) frame.result(k, dtype, shape);
}

}  // namespace tenon::core
