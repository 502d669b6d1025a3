#include "kernels.hpp"

#include "../common/profile.hpp"

namespace tenon::vulkan {

// Declared here alone: a new family compiles no other again.
#define VULKAN(name) void add_##name##_kernels(KernelList& list);
#include "../families.def"

namespace {

// Shaders count with 32 bits.
bool fits(const tn_view& view, uint64_t dtypes) {
  if ((dtypes & TN_MASK(view.dtype)) == 0) return false;
  int64_t reach = 1, count = 1;
  for (uint32_t d = 0; d < view.ndim; ++d) {
    if (view.shape[d] == 0) return true;
    count *= view.shape[d];
    reach += (view.shape[d] - 1) * std::abs(view.strides[d]);
    if (count > INT32_MAX || reach > INT32_MAX) return false;
  }
  return true;
}

bool all_fit(const tn_call& call, uint64_t dtypes) {
  for (uint32_t i = 0; i < call.nouts; ++i)
    if (!fits(*call.outs[i], dtypes)) return false;
  for (uint32_t i = 0; i < call.nargs; ++i) {
    const tn_value& arg = call.args[i];
    if (arg.tag == TN_VALUE_VIEW && !fits(*arg.as.view, dtypes)) return false;
    if (arg.tag != TN_VALUE_VIEWS) continue;
    for (uint32_t k = 0; k < arg.count; ++k)
      if (arg.as.views[k] != nullptr && !fits(*arg.as.views[k], dtypes)) return false;
  }
  return true;
}

const KernelSpec& spec_of(void* self) { return *static_cast<const KernelSpec*>(self); }

tn_status* supports(void* self, const tn_call* call, uint32_t* yes) {
  return sdk::guard([&] {
    const KernelSpec& spec = spec_of(self);
    *yes = all_fit(*call, backend().physical(call->device_index).dtypes) &&
           (spec.supports == nullptr || spec.supports(*call, spec.code));
  });
}

tn_status* run(void* self, void*, const tn_call* call) {
  return sdk::guard([&] {
    const Labelled here(spec_of(self).schema, *call);
    static_cast<StreamPair*>(call->stream)->take_turns();
    spec_of(self).run(*call, spec_of(self).code);
  });
}

uint64_t scratch(void* self, const tn_call* call, void*) {
  return spec_of(self).scratch(*call, spec_of(self).code);
}

}  // namespace

const std::vector<tn_kernel>& all_kernels() {
  static const KernelList list = [] {
    KernelList all;
#define VULKAN(name) add_##name##_kernels(all);
#include "../families.def"
    return all;
  }();
  static const std::vector<tn_kernel> kernels = [] {
    std::vector<tn_kernel> made;
    for (const KernelSpec& spec : list.specs()) {
      tn_kernel kernel = sdk::make_kernel(spec.schema, spec.dtypes, run, spec.priority, spec.flags);
      kernel.supports = supports;
      if (spec.scratch != nullptr) kernel.scratch_size = scratch;
      kernel.self = const_cast<KernelSpec*>(&spec);
      made.push_back(kernel);
    }
    return made;
  }();
  return kernels;
}

}  // namespace tenon::vulkan
