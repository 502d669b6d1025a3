// Sizes and strides.
#include <algorithm>
#include <cstring>
#include <utility>

#include "status.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {

void Dims::fail_size(size_t size) {
  fail(TN_INVALID_ARGUMENT, "{} dimensions, at most {} are possible", size, TN_MAX_DIMS);
}

int64_t& Dims::fail_index(size_t i) const {
  fail(TN_INTERNAL, "dimension {} of {} was asked for", i, n);
}

void Dims::push(int64_t size) {
  if (n == TN_MAX_DIMS) fail(TN_INVALID_ARGUMENT, "more than {} dimensions", TN_MAX_DIMS);
  v[n++] = size;
}

bool Dims::operator==(const Dims& other) const {
  return n == other.n && std::equal(v, v + n, other.v);
}

Dims contiguous_strides(std::span<const int64_t> shape) {
  Dims strides(shape);
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    // Overflow: no memory holds such a shape. Allocation checks the size first, and nothing else uses these strides.
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape[d], 1), &step)) step = INT64_MAX;
  }
  return strides;
}

Reach reach_of(const tn_tensor& tensor) {
  Reach reach;
  for (uint32_t d = 0; d < tensor.ndim(); ++d) {
    const int64_t step = (tensor.shape()[d] - 1) * tensor.strides()[d];
    (step < 0 ? reach.low : reach.high) += step;
  }
  return reach;
}

void check_place(std::string_view name, tn_dtype dtype, std::span<const int64_t> shape,
                 std::span<const int64_t> strides, uint64_t alignment, __int128 address,
                 __int128 low, __int128 high) {
  if (address % alignment != 0)
    fail(TN_INVALID_ARGUMENT,
         "[{}] {} elements must lie at a multiple of {} bytes; copy them there", name,
         dtype_name(dtype), alignment);
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  __int128 first = address, end = address + size;
  for (size_t d = 0; d < shape.size(); ++d) {
    const __int128 step = static_cast<__int128>(shape[d] - 1) * strides[d] * size;
    (step < 0 ? first : end) += step;
  }
  if (first < low || end > high)
    fail(TN_INVALID_ARGUMENT, "[{}] strides {} of shape {} reach further than memory", name,
         format_shape(strides), format_shape(shape));
}

int64_t count_elements(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool empty = false, overflow = false;
  for (int64_t size : shape) {
    if (size < 0) fail(TN_INVALID_ARGUMENT, "negative size in shape {}", format_shape(shape));
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count);
  }
  // 16 bytes an element is the widest dtype: byte counts then fit as well.
  if (overflow || count > INT64_MAX / 16)
    fail(TN_INVALID_ARGUMENT, "shape {} has more elements than memory can address",
         format_shape(shape));
  return empty ? 0 : count;
}

bool has_overlap(const tn_tensor& tensor) {
  if (tensor.contiguous() || tensor.numel <= 1) return false;
  // Sorted by stride, each dimension must step over everything the smaller ones reach.
  uint32_t order[TN_MAX_DIMS], n = 0;
  for (uint32_t d = 0; d < tensor.ndim(); ++d)
    if (tensor.shape()[d] > 1) order[n++] = d;
  const int64_t* strides = tensor.strides();
  std::sort(order, order + n,
            [&](uint32_t a, uint32_t b) { return std::abs(strides[a]) < std::abs(strides[b]); });
  int64_t reach = 1;
  for (uint32_t k = 0; k < n; ++k) {
    int64_t stride = std::abs(strides[order[k]]);
    if (stride < reach) return true;
    reach += (tensor.shape()[order[k]] - 1) * stride;
  }
  return false;
}

}  // namespace tenon::core
