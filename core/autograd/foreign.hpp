// What a plugin's tn_op_def.gradient reads and sets through the host's table. Arguments and results
// as in tn_host.grad_*; NULL and out-of-range indices give NULL, 0 or an error.
#pragma once

#include "tenon/plugin.h"

namespace tenon::core {

class GradCall;

// Runs the callback of a foreign op. Throws Error.
void apply_foreign(GradCall& call);

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
