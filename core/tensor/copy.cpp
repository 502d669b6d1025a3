// Copies that need no kernel: of row-major tensors, and of strided ones in host memory.
#include <algorithm>
#include <cstring>

#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

// Copies along dimension d and those behind it.
void copy_from(uint32_t d, const tn_view& src, const char* from, const tn_view& dst, char* to) {
  const auto bytes = static_cast<int64_t>(dtype_size(src.dtype));
  if (d == src.ndim) return static_cast<void>(std::memcpy(to, from, static_cast<size_t>(bytes)));
  const int64_t size = src.shape[d];
  if (d + 1 == src.ndim && src.strides[d] == 1 && dst.strides[d] == 1)
    return static_cast<void>(std::memcpy(to, from, static_cast<size_t>(size * bytes)));
  for (int64_t i = 0; i < size; ++i)
    copy_from(d + 1, src, from + i * src.strides[d] * bytes, dst, to + i * dst.strides[d] * bytes);
}

}  // namespace

void copy_dense(const tn_tensor& from, tn_tensor& to) {
  copy_bytes(*to.device, to.view.buffer, static_cast<uint64_t>(to.view.offset), *from.device,
             from.view.buffer, static_cast<uint64_t>(from.view.offset), bytes_of(from));
}

void copy_strided_host(const tn_view& src, const tn_view& dst) {
  if (std::find(src.shape, src.shape + src.ndim, 0) != src.shape + src.ndim) return;
  copy_from(0, src, static_cast<const char*>(src.data), dst, static_cast<char*>(dst.data));
}

}  // namespace tenon::core
