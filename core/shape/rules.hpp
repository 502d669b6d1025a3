// Every shape rule that ops.def names, declared from the table itself; the definitions lie in one
// file a family.
#pragma once

#include "dispatch/frame.hpp"

// RULE(binary_arith) { frame.… }
#define TN_RULE(name) void tenon::core::rule_##name([[maybe_unused]] ::tenon::core::Frame& frame)

namespace tenon::core {
#define OP(name, schema, rule, gradient) void rule_##rule(Frame& frame);
#include "ops.def"
#undef OP
}  // namespace tenon::core
