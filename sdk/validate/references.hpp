// References to tensors that plugins hold.
#pragma once

#include "state.hpp"

namespace tenon::validate {

// By the plugin whose slot runs on this thread.
void gain(const tn_tensor* tensor);
// False when no plugin holds one.
bool lose(const tn_tensor* tensor);
// Results that a callback hands to the core, with a reference each; NULL where they are sound.
tn_status* handed_over(tn_tensor* const* outs, uint32_t nouts);
// Reports those that a plugin still holds.
void report_references(std::string_view plugin);

}  // namespace tenon::validate
