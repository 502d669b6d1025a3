#include "ops/pool.hpp"

namespace tenon::cpu {
namespace {

Pooling spatial(const PoolShapes& shapes) {
  Pooling pool;
  pool.planes = shapes.x[0] * shapes.x[1];
  const uint32_t lead = 5 - shapes.ndim;
  for (uint32_t d = lead; d < 3; ++d) {
    pool.in[d] = shapes.x[2 + d - lead];
    pool.out[d] = shapes.out[2 + d - lead];
  }
  return pool;
}

}  // namespace

Pooling sliding_windows(const PoolShapes& shapes, const tn_call& call, uint32_t at,
                        uint32_t dilation_arg, bool include_pad) {
  Pooling pool = spatial(shapes);
  const uint32_t n = shapes.ndim - 2, lead = 3 - n;
  for (uint32_t d = 0; d < 3; ++d) {
    // A list of one entry stands for all.
    const auto entry = [&](uint32_t arg) {
      return d < lead ? 1 : call.args[arg].as.ints[call.args[arg].count == n ? d - lead : 0];
    };
    const int64_t kernel = entry(at),
                  stride = call.args[at + 1].tag == TN_VALUE_INTS ? entry(at + 1) : kernel;
    const int64_t padding = d < lead ? 0 : entry(at + 2),
                  dilation = dilation_arg == 0 ? 1 : entry(dilation_arg);
    pool.step[d] = dilation;
    for (int64_t o = 0; o < pool.out[d]; ++o) {
      const int64_t start = o * stride - padding, reach = start + dilation * (kernel - 1) + 1;
      const int64_t begin =
          start >= 0 ? start : start + (-start + dilation - 1) / dilation * dilation;
      const int64_t end = std::min(reach, pool.in[d]);
      const int64_t size =
          include_pad ? std::min(reach, pool.in[d] + padding) - start : end - begin;
      pool.windows[d].push_back({begin, end, size});
    }
  }
  return pool;
}

Pooling adaptive_windows(const PoolShapes& shapes) {
  Pooling pool = spatial(shapes);
  for (uint32_t d = 0; d < 3; ++d)
    for (int64_t o = 0; o < pool.out[d]; ++o) {
      const int64_t begin = o * pool.in[d] / pool.out[d],
                    end = ((o + 1) * pool.in[d] + pool.out[d] - 1) / pool.out[d];
      pool.windows[d].push_back({begin, end, end - begin});
    }
  return pool;
}

}  // namespace tenon::cpu
