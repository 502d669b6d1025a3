#include <algorithm>
#include <numeric>

#include "call.hpp"

namespace tenon::fuzz {
namespace {

constexpr int64_t kLongest = 4096;           // larger sizes are made with stride 0
constexpr int64_t kLargestBuffer = 1 << 14;  // elements

using Wide = __int128;

Shape row_major(const Shape& shape, const std::vector<size_t>& order, int64_t gap) {
  Shape strides(shape.size(), 0);
  Wide step = gap;
  for (size_t k = order.size(); k-- > 0;) {
    const size_t d = order[k];
    strides[d] = step > kLargestBuffer ? 0 : static_cast<int64_t>(step);
    if (strides[d] != 0 && shape[d] <= kLongest) step *= std::max<int64_t>(shape[d], 1) + (gap - 1);
    if (shape[d] > kLongest) strides[d] = 0;
  }
  return strides;
}

// How far the elements reach from index 0, in both directions.
std::pair<Wide, Wide> extent(const Operand& x) {
  Wide low = 0, high = 0;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    const Wide reach = Wide{x.shape[d] - 1} * x.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

void vary(Operand& x, Rng& rng) {
  const size_t rank = x.shape.size();
  if (rank == 0) return;
  const size_t d = static_cast<size_t>(rng.integer(0, static_cast<int64_t>(rank)));
  switch (rng.integer(0, 4)) {
    case 0:
      for (int64_t& stride : x.strides) stride = -stride;
      break;
    case 1:
      x.strides[d] = -x.strides[d];
      break;
    case 2:
      x.strides[d] = 0;
      break;
    default:
      x.strides[d] = rng.integer(-2, 3);
      break;
  }
}

}  // namespace

double elements(const Shape& shape) {
  double n = 1;
  for (const int64_t size : shape) n *= static_cast<double>(size);
  return n;
}

void lay_out(Operand& x, Rng& rng) {
  std::vector<size_t> order(x.shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const int64_t kind = rng.integer(0, 10);
  if (kind == 5 || kind == 6) std::shuffle(order.begin(), order.end(), rng.engine());
  x.strides = row_major(x.shape, order, kind == 7 ? 2 : 1);
  if (kind >= 8) vary(x, rng);
  const bool valid = std::ranges::all_of(x.shape, [](int64_t size) { return size >= 0; });
  const bool empty = std::ranges::count(x.shape, 0) != 0;
  if (valid && !empty) {
    auto [low, high] = extent(x);
    if (high - low >= kLargestBuffer) {  // as one repeated element
      std::ranges::fill(x.strides, 0);
      low = high = 0;
    }
    x.first = static_cast<int64_t>(-low), x.count = static_cast<int64_t>(high - low + 1);
  } else {
    x.first = x.count = 0;
  }
  x.fill = rng.engine()();
  x.at_end = rng.integer(0, 4) != 0;
  x.sealed = rng.integer(0, 3) == 0;
  x.unaligned = rng.integer(0, 32) == 0;
}

}  // namespace tenon::fuzz
