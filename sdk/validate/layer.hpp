// What layer.cpp puts together.
#pragma once

#include "state.hpp"

namespace tenon::validate {

void wrap_kernel(std::string_view plugin, std::string_view device, tn_kernel& table);
void wrap_op(std::string_view plugin, tn_op_def& def);
// The table that plugins get.
const tn_host* wrap_host(const tn_host* host);

}  // namespace tenon::validate
