// Ops that plugins and hosts define: their shape rule and decomposition as the core calls them.
#pragma once

#include "dispatch/frame.hpp"

namespace tenon::core {

// Defined in ops/foreign.cpp, which shares the rules of our own ops: results and operands as form, promotion and `infer` say.
void rule_foreign(Frame& frame);
// Likewise: what a form asks of the schema. Throws Error.
void check_foreign(const Schema& schema, const tn_op_def& def, std::string_view plugin);
// Likewise: of a call whose last result is a list. Throws Error.
uint32_t count_results(const Frame& frame);
void decompose_foreign(Frame& frame, tn_tensor** outs);

}  // namespace tenon::core
