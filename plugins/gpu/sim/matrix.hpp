// portable_matrix.hpp for the simulator: lanes hold the same elements as NVIDIA's in warps of 32 and AMD's in warps of 64.
#pragma once

#include "device.hpp"

namespace tenon::gpu {

namespace sim {

// The elements that the lanes of a warp deposit.
template <class T>
struct Shares {
  Share<T> of[kMostLanes];

  Shares(const Share<T>& mine, const Site& site) {
    static_assert(sizeof mine == 16);
    std::memcpy(of, exchange(&mine, sizeof mine, site), sizeof(mine) * warp_lanes());
  }
  float left(uint32_t row, uint32_t k) const {
    if (warp_lanes() == 64) return widen<T>(of[k / 4 * 16 + row].at[k % 4]);
    return widen<T>(of[row % 8 * 4 + k % 8 / 2].at[k / 8 * 4 + row / 8 * 2 + k % 2]);
  }
  float right(uint32_t k, uint32_t column) const {
    if (warp_lanes() == 64) return widen<T>(of[k / 4 * 16 + column].at[k % 4]);
    return widen<T>(of[column % 8 * 4 + k % 8 / 2].at[column / 8 * 4 + k / 8 * 2 + k % 2]);
  }
};

}  // namespace sim

template <class T>
void multiply_add(const Share<T>& a, const Share<T>& b, Share<float>& sums,
                  const sim::Site& site = sim::Site::current()) {
  const sim::Shares<T> left(a, site), right(b, site);
  const uint32_t lane = sim::thread_number() % sim::warp_lanes();
  const bool wide = sim::warp_lanes() == 64;
  for (uint32_t e = 0; e < 256 / sim::warp_lanes(); ++e) {
    const uint32_t row = wide ? lane / 16 * 4 + e : lane / 4 + e / 2 % 2 * 8,
                   column = wide ? lane % 16 : lane % 4 * 2 + e % 2 + e / 4 * 8;
    for (uint32_t k = 0; k < 16; ++k) sums.at[e] += left.left(row, k) * right.right(k, column);
  }
}

}  // namespace tenon::gpu
