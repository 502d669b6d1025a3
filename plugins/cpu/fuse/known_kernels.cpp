#include "compile.hpp"

namespace tenon::cpu {

KnownKernels::Key KnownKernels::key_of(const tn_kernel& kernel) {
  return {reinterpret_cast<const void*>(kernel.run), kernel.self};
}

KnownKernels::KnownKernels(const KernelList& list) {
  for (size_t i = 0; i < list.kernels().size(); ++i) {
    const tn_kernel& kernel = list.kernels()[i];
    known_.emplace(key_of(kernel), Known{&kernel, list.stretches()[i]});
  }
}

const KnownKernels::Known* KnownKernels::find(const tn_kernel& kernel) const {
  const auto found = known_.find(key_of(kernel));
  return found == known_.end() ? nullptr : &found->second;
}

}  // namespace tenon::cpu
