// Strided copies in host memory, for making, loading and saving tensors when no plugin is there.
#include <algorithm>
#include <cstring>

#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

struct Walk {
  const tn_view& src;
  const tn_view& dst;
  int64_t bytes;  // of one element
};

void copy_row(const Walk& walk, const char* src, char* dst, int64_t count, int64_t src_stride,
              int64_t dst_stride) {
  if (src_stride == walk.bytes && dst_stride == walk.bytes) {
    std::memcpy(dst, src, static_cast<size_t>(count * walk.bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(dst + i * dst_stride, src + i * src_stride, static_cast<size_t>(walk.bytes));
}

}  // namespace

void copy_strided_host(const tn_view& src, const tn_view& dst) {
  Walk walk{src, dst, static_cast<int64_t>(dtype_size(src.dtype))};
  uint32_t n = src.ndim;
  for (uint32_t d = 0; d < n; ++d)
    if (src.shape[d] == 0) return;
  const char* from = static_cast<const char*>(src.data);
  char* to = static_cast<char*>(dst.data);
  if (n == 0) return copy_row(walk, from, to, 1, walk.bytes, walk.bytes);

  // Counts like an odometer over all dimensions but the last.
  int64_t index[TN_MAX_DIMS] = {};
  int64_t row = src.shape[n - 1];
  for (;;) {
    copy_row(walk, from, to, row, src.strides[n - 1] * walk.bytes, dst.strides[n - 1] * walk.bytes);
    uint32_t d = n - 1;
    for (;;) {
      if (d == 0) return;
      --d;
      from += src.strides[d] * walk.bytes;
      to += dst.strides[d] * walk.bytes;
      if (++index[d] < src.shape[d]) break;
      from -= src.shape[d] * src.strides[d] * walk.bytes;
      to -= dst.shape[d] * dst.strides[d] * walk.bytes;
      index[d] = 0;
    }
  }
}

}  // namespace tenon::core
