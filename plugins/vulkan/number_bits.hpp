// A number as the bits of an element, for what the host computes ahead of a kernel.
#pragma once

#include <cstdint>

#include "tenon/dtype.h"

namespace tenon::vulkan {

// As a cast has it: rounded to nearest; limited to the range of integers, where NaN gives 0; anything but 0 is true. Complex dtypes
// have no bits here.
uint64_t number_bits(tn_dtype dtype, double value);
uint64_t number_bits(tn_dtype dtype, int64_t value);

}  // namespace tenon::vulkan
