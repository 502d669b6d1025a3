#include "ops/resample.hpp"

#include <algorithm>
#include <cmath>

namespace tenon::cpu {
namespace {

// Weights of the cubic convolution with a = -0.75 for a fraction t behind the second
// of four places.
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

}  // namespace

Taps resample_taps(int64_t in, int64_t out, std::string_view mode, bool align_corners) {
  Taps taps;
  const bool nearest = mode == "nearest", cubic = mode == "bicubic";
  taps.count = nearest ? 1 : cubic ? 4 : 2;
  for (int64_t o = 0; o < out; ++o) {
    if (nearest) {
      taps.at.push_back(std::min(in - 1, o * in / out));
      taps.weight.push_back(1);
      continue;
    }
    const double scale =
        align_corners ? (out > 1 ? double(in - 1) / double(out - 1) : 0) : double(in) / double(out);
    double source = align_corners ? scale * double(o) : scale * (double(o) + 0.5) - 0.5;
    if (!cubic) source = std::max(source, 0.0);
    const double base = std::floor(source), t = source - base;
    const int64_t first = static_cast<int64_t>(base);
    if (cubic) {
      const auto weights = cubic_weights(t);
      for (int64_t k = 0; k < 4; ++k) {
        taps.at.push_back(std::clamp<int64_t>(first - 1 + k, 0, in - 1));
        taps.weight.push_back(weights[static_cast<size_t>(k)]);
      }
    } else {
      taps.at.push_back(std::min(first, in - 1));
      taps.at.push_back(std::min(first + 1, in - 1));
      taps.weight.push_back(1 - t);
      taps.weight.push_back(t);
    }
  }
  return taps;
}

}  // namespace tenon::cpu
