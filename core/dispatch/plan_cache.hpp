// The plans that kernels prepared, keyed by kernel and call.
#pragma once

#include <memory>

#include "dispatch/op.hpp"

namespace tenon::core {

// Released through its kernel when the last user lets go.
struct Plan {
  const KernelEntry* kernel = nullptr;
  void* handle = nullptr;
  ~Plan() {
    if (kernel != nullptr) kernel->table.release(kernel->table.self, handle);
  }
};

// The plan for a call: from the cache, or prepared now. Throws Error. [thread-safe]
std::shared_ptr<Plan> find_plan(const KernelEntry& kernel, const tn_call& call);
// Forgets the plans of a plugin's kernels.
void drop_plans(std::string_view plugin_id);

}  // namespace tenon::core
