// Kernels throw sdk::Error (through fail); the adapters here are the barrier where that
// becomes a status.
#pragma once

#include "tenon/plugin.hpp"

namespace tenon::cpu {

// fail(TN_OUT_OF_RANGE, "[gather] index ", i, " out of range for a dimension of ", n)
using sdk::fail;

// tn_kernel.run of a kernel without a plan: run_of<add_f32>.
template <void (*Body)(const tn_call&)>
tn_status* run_of(void*, void*, const tn_call* call) {
  return sdk::guard([&] { Body(*call); });
}

// tn_kernel.prepare, run and release of a kernel with a plan, which `std::unique_ptr<Plan>
// make(const tn_call&)` makes.
template <auto Make>
tn_status* prepare_of(void*, const tn_call* call, void** plan) {
  return sdk::guard([&] { *plan = Make(*call).release(); });
}
template <class Plan, void (*Body)(Plan&, const tn_call&)>
tn_status* run_plan_of(void*, void* plan, const tn_call* call) {
  return sdk::guard([&] { Body(*static_cast<Plan*>(plan), *call); });
}
template <class Plan>
void release_of(void*, void* plan) {
  delete static_cast<Plan*>(plan);
}

// tn_kernel.supports from a predicate that doesn't throw.
template <bool (*Predicate)(const tn_call&)>
tn_status* supports_of(void*, const tn_call* call, uint32_t* yes) {
  *yes = Predicate(*call) ? 1 : 0;
  return nullptr;
}

// tn_kernel.scratch_size of a kernel without a plan.
template <uint64_t (*Size)(const tn_call&)>
uint64_t scratch_of(void*, const tn_call* call, void*) {
  return Size(*call);
}

}  // namespace tenon::cpu
