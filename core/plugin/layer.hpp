// The layer between the core and its plugins, when there is one.
#pragma once

#include <string_view>

#include "tenon/ext/draft/layer.h"

namespace tenon::core {

// NULL without one. Chosen at the first call, for good. [any thread]
const tn_layer* layer();
// The host's table as plugins get it.
const tn_host& layered_host();
// Tells the layer where a plugin is in its life.
void enter_phase(std::string_view plugin_id, uint32_t phase);

}  // namespace tenon::core
