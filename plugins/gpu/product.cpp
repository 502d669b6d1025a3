#include "product.hpp"

#include <algorithm>

namespace tenon::gpu {
namespace {

int64_t pieces(int64_t n, int64_t size) { return (n + size - 1) / size; }

}  // namespace

Parts split_sum(int64_t k, int64_t groups) {
  constexpr int64_t kShortest = 256, kMostParts = 128;
  const int64_t wanted = kBusy / std::max<int64_t>(groups, 1);
  const int64_t count = std::clamp<int64_t>(std::min(wanted, k / kShortest), 1, kMostParts);
  const int64_t length = std::max<int64_t>(32, pieces(pieces(k, count), 32) * 32);
  return {static_cast<uint32_t>(std::max<int64_t>(1, pieces(k, length))),
          static_cast<uint32_t>(length)};
}

}  // namespace tenon::gpu
