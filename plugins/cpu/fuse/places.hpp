// Where the values of a tile lie in a thread's memory.
#pragma once

#include "fused.hpp"

namespace tenon::cpu {

// For the places behind operands and numbers, up to `end`: those whose lives do not meet share memory.
void assign_places(Fused& fused, size_t end);

}  // namespace tenon::cpu
