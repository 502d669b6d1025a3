// The next float towards another, from their bits, for the CPU and for GPUs.
#pragma once

#include <type_traits>

#include "host_device.hpp"

namespace tenon {

// infinity: its bits, in the same format. Bits of a magnitude count up away from zero. A NaN gives the quiet one.
template <class Bits>
TENON_SHARED_INLINE_FN Bits next_after(Bits x, Bits y, Bits infinity) {
  using Signed = std::make_signed_t<Bits>;
  constexpr int kTop = 8 * static_cast<int>(sizeof(Bits)) - 1;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << kTop);
  const Bits size_x = static_cast<Bits>(x & ~kSign), size_y = static_cast<Bits>(y & ~kSign);
  const bool negative = static_cast<Signed>(x) < 0;
  // Ascending with the number; 0 for both zeros.
  const Signed place_x = static_cast<Signed>(negative ? -size_x : size_x);
  const Signed place_y = static_cast<Signed>(static_cast<Signed>(y) < 0 ? -size_y : size_y);
  const bool away = negative ? place_y < place_x : place_y > place_x;
  Bits next = static_cast<Bits>(away ? x + Bits{1} : x - Bits{1});
  if (size_x == 0) next = static_cast<Bits>((y & kSign) | Bits{1});
  if (place_x == place_y) next = y;
  if (size_x > infinity || size_y > infinity) next = static_cast<Bits>(infinity | infinity >> 1);
  return next;
}

}  // namespace tenon
