#include "own_kernel.hpp"

namespace tenon::gpu {

const tn_kernel& own_kernel(std::string_view schema) {
  for (const tn_kernel& kernel : all_kernels())
    if (sdk::view_of(kernel.op) == schema) return kernel;
  sdk::fail(TN_INTERNAL, "[", rt::kName, "] no kernel of its own for ", schema);
}

bool is_taken_by(const tn_kernel& kernel, const tn_call& call) {
  if (kernel.supports == nullptr) return true;
  uint32_t yes = 0;
  tn_status* const status = kernel.supports(kernel.self, &call, &yes);
  if (status != nullptr) {
    sdk::host()->status_release(status);
    return false;
  }
  return yes != 0;
}

}  // namespace tenon::gpu
