// What the plugin answers to get_interface("tn.graph", 1).
#pragma once

#include "kernels.hpp"

namespace tenon::cpu {

// When the plugin starts; the list outlives it.
void start_graph(const KernelList& list);
const void* graph_interface(tn_str name, uint32_t revision);

}  // namespace tenon::cpu
