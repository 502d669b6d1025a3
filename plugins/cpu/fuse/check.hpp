// What holds for every expression of tn.graph, whatever is made of it.
#pragma once

#include "tenon/ext/draft/graph.h"

namespace tenon::cpu {

// Throws TN_INVALID_ARGUMENT with the place, or TN_UNIMPLEMENTED beyond the limits.
void check_expression(const tn_graph_expression& expression);

}  // namespace tenon::cpu
