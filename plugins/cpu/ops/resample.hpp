// Interpolation: along each dimension an output is a weighted sum of up to four inputs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tenon::cpu {

struct Taps {
  int64_t count = 1;        // of each output
  std::vector<int64_t> at;  // count places for each output
  std::vector<double> weight;
};

// From `in` to `out` places by the given mode.
Taps resample_taps(int64_t in, int64_t out, std::string_view mode, bool align_corners);

}  // namespace tenon::cpu
