// Ops that plugins and hosts define: their shape rule, decomposition and gradient as the core calls them.
#pragma once

#include "dispatch/frame.hpp"

namespace tenon::core {

class GradCall;

// The most results of a call, and outputs of a function: as many as a node of the tape can tell apart.
constexpr uint32_t kMostOutputs = 60'000;

// Defined in ops/foreign.cpp, which shares the rules of our own ops: results and operands as form, promotion and `infer` say.
void rule_foreign(Frame& frame);
// Likewise: checks the schema against the form. Throws Error.
void check_foreign(const Schema& schema, const tn_op_def& def, std::string_view plugin);
// Likewise: of a call whose last result is a list. Throws Error.
uint32_t count_results(const Frame& frame);
void decompose_foreign(Frame& frame, tn_tensor** outs);

// Defined in ops/foreign_gradient.cpp: runs the op's callback. Throws Error.
void apply_foreign(GradCall& call);
// What it reads and sets, as in tn_host.grad_*. NULL and out-of-range indices give NULL, 0 or an error.
tn_tensor* grad_output(tn_grad_call* call, uint32_t result) noexcept;
tn_tensor* grad_saved_input(tn_grad_call* call, uint32_t arg) noexcept;
tn_tensor* grad_saved_output(tn_grad_call* call, uint32_t result) noexcept;
const tn_value* grad_arg(tn_grad_call* call, uint32_t arg) noexcept;
uint32_t grad_needed(tn_grad_call* call, uint32_t arg) noexcept;
uint32_t grad_result_count(tn_grad_call* call) noexcept;
uint32_t grad_entry_count(tn_grad_call* call, uint32_t arg) noexcept;
tn_tensor* grad_saved_entry(tn_grad_call* call, uint32_t arg, uint32_t entry) noexcept;
uint32_t grad_entry_needed(tn_grad_call* call, uint32_t arg, uint32_t entry) noexcept;
tn_status* grad_set(tn_grad_call* call, uint32_t arg, tn_tensor* grad) noexcept;
tn_status* grad_set_entry(tn_grad_call* call, uint32_t arg, uint32_t entry,
                          tn_tensor* grad) noexcept;

}  // namespace tenon::core
