// Random number generators as ops use them.
#pragma once

#include <cstdint>

#include "tenon/random.h"

namespace tenon::core {

struct Draws {
  uint64_t seed;
  uint64_t offset;  // the first block
};

// The blocks of an op over `elements` elements: advances the generator (NULL: the default one) by (elements + 1) / 2, whatever
// the op uses of them, so that the numbers that follow do not depend on dtype or backend. sdk/include/tenon/philox.hpp tells
// how numbers are made of them.
Draws reserve_draws(tn_generator* generator, uint64_t elements) noexcept;

}  // namespace tenon::core
