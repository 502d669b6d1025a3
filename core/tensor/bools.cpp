// Bools in memory of others.
#include <algorithm>

#include "boundary.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

using Sizes = std::span<const int64_t>;

// The bits that any of the bytes has; without a way out, so that it is quick.
uint8_t join(const uint8_t* at, Sizes shape, Sizes strides) {
  if (shape.empty()) return *at;
  const int64_t count = strides[0] == 0 ? 1 : shape[0];
  uint8_t seen = 0;
  if (shape.size() == 1 && strides[0] == 1) {
    for (int64_t i = 0; i < count; ++i) seen |= at[i];
  } else {
    for (int64_t i = 0; i < count; ++i)
      seen |= join(at + i * strides[0], shape.subspan(1), strides.subspan(1));
  }
  return seen;
}

}  // namespace

void check_bools(std::string_view name, const void* data, Sizes shape, Sizes strides) {
  if (join(static_cast<const uint8_t*>(data), shape, strides) > 1)
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
