#include "kernels.hpp"

#include <string>

#include "range.hpp"

namespace tenon::gpu {

// Declared here alone: a new family compiles no other again.
#define GPU(name) void add_##name##_kernels(KernelList& list);
#include "../families.def"

namespace {

struct Registered {
  KernelSpec spec;
  std::string name;    // of the op
  const char* family;  // whose kernels it launches
};
const Registered& registered(void* self) { return *static_cast<const Registered*>(self); }
const KernelSpec& spec_of(void* self) { return registered(self).spec; }

tn_status* supports(void* self, const tn_call* call, uint32_t* yes) {
  return sdk::guard([&] { *yes = spec_of(self).supports(*call, spec_of(self).code); });
}

tn_status* run(void* self, void*, const tn_call* call) {
  return sdk::guard([&] {
    const Registered& kernel = registered(self);
    const Running here(*call, kernel.name.c_str(), kernel.family);
    kernel.spec.run(*call, kernel.spec.code);
  });
}

uint64_t scratch(void* self, const tn_call* call, void*) {
  return spec_of(self).scratch(*call, spec_of(self).code);
}

}  // namespace

tn_dtype bits_of(tn_dtype dtype) {
  switch (size_of(dtype)) {
    case 1:
      return TN_DTYPE_U8;
    case 2:
      return TN_DTYPE_U16;
    case 4:
      return TN_DTYPE_U32;
    default:
      return TN_DTYPE_U64;
  }
}

const std::vector<tn_kernel>& all_kernels() {
  static const std::vector<Registered> list = [] {
    std::vector<Registered> named;
    const auto add = [&](void (*family)(KernelList&), const char* name) {
      KernelList list;
      family(list);
      for (const KernelSpec& spec : list.specs())
        named.push_back({spec, std::string(spec.schema.substr(0, spec.schema.find('('))), name});
    };
#define GPU(name) add(add_##name##_kernels, #name);
#include "../families.def"
    return named;
  }();
  static const std::vector<tn_kernel> kernels = [] {
    std::vector<tn_kernel> made;
    for (const Registered& one : list) {
      const KernelSpec& spec = one.spec;
      tn_kernel kernel = sdk::make_kernel(spec.schema, spec.dtypes, run, spec.priority, spec.flags);
      if (spec.supports != nullptr) kernel.supports = supports;
      if (spec.scratch != nullptr) kernel.scratch_size = scratch;
      kernel.self = const_cast<Registered*>(&one);
      made.push_back(kernel);
    }
    return made;
  }();
  return kernels;
}

}  // namespace tenon::gpu
