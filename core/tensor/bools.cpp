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

}  // namespace

void check_bools(std::string_view name, const void* data, std::span<const int64_t> shape,
                 std::span<const int64_t> strides) {
  std::vector<Dim> dims;  // in the order of memory; what is repeated is looked at once
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && strides[d] != 0) dims.push_back({shape[d], strides[d]});
  std::ranges::sort(dims, std::greater(), [](const Dim& dim) { return std::abs(dim.stride); });
  if (join(static_cast<const uint8_t*>(data), dims) > 1)
    fail(TN_INVALID_ARGUMENT,
         "[{}] memory for bools of shape {} holds bytes other than 0 and 1 and cannot be shared; "
         "copy it, or share it as u8 and compare with 0",
         name, format_shape(shape));
}

std::vector<uint8_t> to_bools(const void* data, uint64_t count) {
  const auto* from = static_cast<const uint8_t*>(data);
  std::vector<uint8_t> bools(count);
  std::transform(from, from + count, bools.begin(), [](uint8_t byte) { return byte != 0; });
  return bools;
}

}  // namespace tenon::core
