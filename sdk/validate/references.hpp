// References to tensors that plugins hold.
#pragma once

#include "state.hpp"

namespace tenon::validate {

// By the plugin whose slot runs on this thread.
void gain(const tn_tensor* tensor);
// False when no plugin holds one.
bool lose(const tn_tensor* tensor);
// Reports those that a plugin still holds.
void report_references(std::string_view plugin);

}  // namespace tenon::validate
