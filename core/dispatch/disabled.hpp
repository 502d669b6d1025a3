// Kernels that TENON_DISABLE=PLUGIN/OP[,PLUGIN/OP…] switches off; either name may be "*".
#pragma once

#include <set>

#include "dispatch/op.hpp"

namespace tenon::core {

// [any thread]
bool is_disabled(std::string_view plugin, std::string_view op);
// Warns once of entries that match no registered kernel, and suggests names; skips plugins that may still be loaded.
void warn_of_unused_disables(const std::set<std::string, std::less<>>& to_come);

struct DisabledKernel {
  const tn_op* op;
  uint32_t device_type;
  const KernelEntry* kernel;
};
std::vector<DisabledKernel> disabled_kernels();
// The kernels that calls may use, each once.
std::vector<std::pair<const tn_op*, const KernelEntry*>> kernels_in_service();

}  // namespace tenon::core
