// References to tensors that plugins hold.
#pragma once

#include "state.hpp"

namespace tenon::validate {

// Counts a reference of the plugin whose slot runs on this thread.
void gain(const tn_tensor* tensor);
// False if no plugin holds one.
bool lose(const tn_tensor* tensor);
// Checks results that a callback hands to the core, each with a reference; NULL if they are sound.
tn_status* handed_over(tn_tensor* const* outs, uint32_t nouts);
// Reports references that a plugin still holds.
void report_references(std::string_view plugin);

}  // namespace tenon::validate
