#include "ops/pool.hpp"

namespace tenon::cpu {
namespace {

Window adaptive_window(const PoolGeometry& g, uint32_t d, int64_t o) {
  const int64_t begin = o * g.in[d] / g.out[d], end = ((o + 1) * g.in[d] + g.out[d] - 1) / g.out[d];
  return {begin, end, end - begin};
}

Window sliding_window(const PoolGeometry& g, uint32_t d, int64_t o) {
  const int64_t step = g.dilation[d], start = o * g.stride[d] - g.padding[d],
                reach = start + step * (g.kernel[d] - 1) + 1;
  const int64_t begin = start >= 0 ? start : start + (-start + step - 1) / step * step;
  const int64_t end = std::min(reach, g.in[d]);
  return {begin, end,
          g.include_pad ? std::min(reach, g.in[d] + g.padding[d]) - start : end - begin};
}

}  // namespace

Pooling::Pooling(const tn_call& call, uint32_t op) : PoolGeometry(call, op) {
  for (uint32_t d = 0; d < 3; ++d) {
    windows[d].reserve(static_cast<size_t>(out[d]));
    for (int64_t o = 0; o < out[d]; ++o)
      windows[d].push_back(adaptive ? adaptive_window(*this, d, o) : sliding_window(*this, d, o));
  }
}

}  // namespace tenon::cpu
