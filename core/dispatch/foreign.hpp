// Ops that plugins and hosts define: their shape rule and decomposition as the core calls them.
#pragma once

#include "dispatch/frame.hpp"

namespace tenon::core {

void rule_foreign(Frame& frame);
void decompose_foreign(Frame& frame, tn_tensor** outs);

}  // namespace tenon::core
