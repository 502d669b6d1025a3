// How a loop is cut into tiles.
#pragma once

#include "fused.hpp"

namespace tenon::cpu {

// Sets `tiling`, and what it means for the operands, of a Fused whose shape, reduced and operands' size and step are set.
void cut(Fused& fused);

}  // namespace tenon::cpu
