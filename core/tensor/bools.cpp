// Bools in memory that the core does not own.
#include <algorithm>
#include <cstdlib>
#include <functional>

#include "boundary.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

struct Dim {
  int64_t size, stride;
};

// All bytes combined by OR; without an early exit, so that it vectorises.
uint8_t join(const uint8_t* at, std::span<const Dim> dims) {
  if (dims.empty()) return *at;
  const auto [size, stride] = dims[0];
  uint8_t seen = 0;
  if (dims.size() > 1)
    for (int64_t i = 0; i < size; ++i) seen |= join(at + i * stride, dims.subspan(1));
  else if (stride == 1)
    for (int64_t i = 0; i < size; ++i) seen |= at[i];
  else
    for (int64_t i = 0; i < size; ++i) seen |= at[i * stride];
  return seen;
}

uint8_t join(const tn_tensor& bytes) {
  std::vector<Dim> dims;  // in the order of memory; what is repeated is looked at once
  for (uint32_t d = 0; d < bytes.ndim(); ++d)
    if (bytes.shape()[d] > 1 && bytes.strides()[d] != 0)
      dims.push_back({bytes.shape()[d], bytes.strides()[d]});
  std::ranges::sort(dims, std::greater(), [](const Dim& dim) { return std::abs(dim.stride); });
  if (bytes.device->is_host()) return join(static_cast<const uint8_t*>(bytes.view.data), dims);
  const Reach reach = reach_of(bytes);
  std::vector<uint8_t> copy(static_cast<size_t>(reach.high - reach.low + 1));
  copy_bytes(host_device(), copy.data(), 0, *bytes.device, bytes.view.buffer,
             static_cast<uint64_t>(bytes.view.offset + reach.low), copy.size());
  return join(copy.data() - reach.low, dims);
}

}  // namespace

void check_bools(std::string_view name, const tn_tensor& bools) {
  if (bools.numel == 0) return;
  if (!has_elements(bools)) fail_released(bools);
  if (join(bools) > 1)
    fail(TN_INVALID_ARGUMENT,
         "[{}] memory for bools of shape {} holds bytes other than 0 and 1 and cannot be shared; "
         "copy it, or share it as u8 and compare with 0",
         name, format_shape(bools.sizes()));
}

std::vector<uint8_t> to_bools(const void* data, uint64_t count) {
  const auto* from = static_cast<const uint8_t*>(data);
  std::vector<uint8_t> bools(count);
  std::transform(from, from + count, bools.begin(), [](uint8_t byte) { return byte != 0; });
  return bools;
}

}  // namespace tenon::core
