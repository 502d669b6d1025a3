// The layer between the core and its plugins, when there is one.
#pragma once

#include <string_view>

#include "loader.hpp"

namespace tenon::core {

// The host's table as plugins get it.
const tn_host& layered_host();
// Tells the layer which stage of its life a plugin has reached.
void enter_phase(std::string_view plugin_id, uint32_t phase);

}  // namespace tenon::core
