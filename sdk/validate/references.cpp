#include "references.hpp"

#include <map>

namespace tenon::validate {
namespace {

struct Held {
  uint64_t count = 0;
  std::string plugin, op;  // of the first reference
};

// Protected by the state's lock.
std::map<const tn_tensor*, Held>& references() {
  static auto& made = *new std::map<const tn_tensor*, Held>;
  return made;
}

}  // namespace

void gain(const tn_tensor* tensor) {
  if (tensor == nullptr) return;
  const Crossing* at = current_crossing();
  const std::lock_guard lock(state_mutex());
  Held& held = references()[tensor];
  if (held.count++ != 0 || at == nullptr) return;
  held.plugin = at->plugin;
  for (; at != nullptr && held.op.empty(); at = at->outer) held.op = at->op;
}

bool lose(const tn_tensor* tensor) {
  const std::lock_guard lock(state_mutex());
  const auto at = references().find(tensor);
  if (at == references().end()) return false;
  if (--at->second.count == 0) references().erase(at);
  return true;
}

tn_status* handed_over(tn_tensor* const* outs, uint32_t nouts) {
  tn_status* status = nullptr;
  for (uint32_t k = 0; status == nullptr && k < nouts; ++k) {
    if (outs[k] == nullptr)
      status = refused(TN_VIOLATION_RESULT, fmt::format("success without result {}", k));
    else if (!lose(outs[k]))
      status = refused(TN_VIOLATION_OWNERSHIP,
                       fmt::format("result {} is a tensor it has no reference to", k));
  }
  return status;
}

void report_references(std::string_view plugin) {
  uint64_t count = 0;
  std::string op;
  {
    const std::lock_guard lock(state_mutex());
    for (auto at = references().begin(); at != references().end();) {
      if (at->second.plugin != plugin) {
        ++at;
        continue;
      }
      count += at->second.count;
      if (op.empty()) op = at->second.op;
      at = references().erase(at);
    }
  }
  if (count == 0) return;
  found(TN_VIOLATION_LEAK,
        fmt::format("{} references to tensors are held at its quiesce{}; a plugin releases what "
                    "op_call and tensor_retain gave it",
                    count, op.empty() ? "" : fmt::format(", the first taken in {}", op)));
}

}  // namespace tenon::validate

using namespace tenon::validate;

uint64_t tn_validate_references(void) {
  const std::lock_guard lock(state_mutex());
  uint64_t count = 0;
  for (const auto& [tensor, held] : references()) count += held.count;
  return count;
}
