#include "kernels.hpp"

namespace tenon::cpu {

// Declared here alone: a new family compiles no other again.
#define CPU(name) void add_##name##_kernels(KernelList& list);
#include "../families.def"

void KernelList::add(const KernelSpec& spec) {
  tn_kernel kernel{};
  kernel.struct_size = sizeof kernel;
  kernel.flags = spec.flags;
  kernel.op = {spec.schema.data(), spec.schema.size()};
  kernel.dtypes = spec.dtypes;
  kernel.priority = spec.priority;
  kernel.supports = spec.supports;
  kernel.prepare = spec.prepare;
  kernel.scratch_size = spec.scratch_size;
  kernel.run = spec.run;
  kernel.release = spec.release;
  kernel.self = spec.self;
  kernels_.push_back(kernel);
  stretches_.push_back(spec.stretch);
}

KernelList all_kernels() {
  KernelList list;
#define CPU(name) add_##name##_kernels(list);
#include "../families.def"
  return list;
}

}  // namespace tenon::cpu
