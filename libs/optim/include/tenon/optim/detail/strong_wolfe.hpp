// A search along a direction for a place that satisfies the strong Wolfe conditions: the function has fallen enough there, and is nearly
// flat (Nocedal & Wright 2006, algorithms 3.5 and 3.6).
#ifndef TENON_OPTIM_DETAIL_STRONG_WOLFE_HPP
#define TENON_OPTIM_DETAIL_STRONG_WOLFE_HPP

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "tenon/tenon.hpp"

namespace tenon::optim::detail {

// A place on the line: how far from its begin, the function's value, its slope along the line and its gradient.
struct LinePoint {
  double t, value, slope;
  Tensor gradient;
};

// The minimum between low and high of the cubic through two points (equation 3.59).
inline double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const auto& [first, second] = a.t <= b.t ? std::tie(a, b) : std::tie(b, a);
  const double d1 = first.slope + second.slope -
                    3 * (first.value - second.value) / (first.t - second.t),
               square = d1 * d1 - first.slope * second.slope;
  if (square < 0) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double at = second.t - (second.t - first.t) * ((second.slope + d2 - d1) /
                                                       (second.slope - first.slope + 2 * d2));
  return std::min(std::max(at, low), high);
}

// look(t) gives the point at t.
template <class Look>
class StrongWolfe {
 public:
  // `size` is the largest element of the direction, `tries` how many points may be looked at after the first.
  StrongWolfe(const Look& look, LinePoint start, double size, int64_t tries)
      : look_(look), start_(std::move(start)), size_(size), tries_(tries) {}

  // The point that satisfies the conditions, or the best that was found; t is looked at first.
  LinePoint find(double t) {
    LinePoint previous = start_, point = look_(t);
    int64_t used = 0;
    for (; used < tries_; ++used) {
      if (!falls(point) || (used > 1 && point.value >= previous.value))
        return narrow(previous, point, tries_ - used);
      if (is_flat(point)) return point;
      if (point.slope >= 0) return narrow(previous, point, tries_ - used);
      const double next =
          cubic_minimum(previous, point, point.t + 0.01 * (point.t - previous.t), point.t * 10);
      previous = std::exchange(point, look_(next));
    }
    return narrow(start_, point, 0);
  }

 private:
  static constexpr double kFall = 1e-4, kFlat = 0.9, kNarrow = 1e-9;
  bool falls(const LinePoint& p) const {
    return p.value <= start_.value + kFall * p.t * start_.slope;
  }
  bool is_flat(const LinePoint& p) const { return std::abs(p.slope) <= -kFlat * start_.slope; }

  // The place to look at next. Near an end it tries once, and then moves a tenth inwards.
  double between(const LinePoint& low, const LinePoint& high, bool& stalled) const {
    const auto [left, right] = std::minmax({low.t, high.t});
    const double t = cubic_minimum(low, high, left, right), margin = 0.1 * (right - left);
    if (std::min(right - t, t - left) >= margin) {
      stalled = false;
      return t;
    }
    const bool move = stalled || t >= right || t <= left;
    stalled = !move;
    if (!move) return t;
    return std::abs(t - right) < std::abs(t - left) ? right - margin : left + margin;
  }
  // Narrows a bracket until its lower end satisfies the conditions.
  LinePoint narrow(LinePoint low, LinePoint high, int64_t tries) const {
    if (high.value < low.value) std::swap(low, high);
    bool stalled = false;
    for (; tries > 0 && std::abs(high.t - low.t) * size_ >= kNarrow; --tries) {
      LinePoint point = look_(between(low, high, stalled));
      if (!falls(point) || point.value >= low.value) {
        high = std::move(point);
        if (high.value < low.value) std::swap(low, high);
        continue;
      }
      if (is_flat(point)) return point;
      if (point.slope * (high.t - low.t) >= 0) high = low;
      low = std::move(point);
    }
    return low;
  }

  const Look& look_;
  LinePoint start_;
  double size_;
  int64_t tries_;
};

}  // namespace tenon::optim::detail
#endif
