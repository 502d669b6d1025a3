// The dispatcher checks a call and infers its results as for any other device; no kernel computes them, and no memory holds them.
#include "trace/meta.hpp"

#include <cstdint>
#include <vector>

#include "tenon/device_type.hpp"
#include "trace/elementless.hpp"

namespace {

using namespace tenon::sdk;

Status run(void*, void*, const tn_call* call) {
  return guard([&] {
    for (uint32_t k = 0; k < call->nouts; ++k)
      if (call->outs[k] == nullptr)
        fail(TN_UNIMPLEMENTED,
             "[meta] the shape of its result depends on elements, and meta tensors have none");
  });
}

class Meta : public Elementless {
 public:
  void info(uint32_t, tn_device_info* out) {
    describe("shapes without elements", uint64_t{1} << 60, out);
  }
  void allocate(uint32_t, uint64_t, void** buffer, void** address) { number(buffer, address); }
  void free(uint32_t, void*) {}
  void copy_in(uint32_t, void*, const void*, void*, uint64_t, uint64_t) {}
  void copy_out(uint32_t, void*, void*, uint64_t, void*, uint64_t) {
    fail(TN_UNIMPLEMENTED, "[meta] Cannot copy out of meta tensor; no data!");
  }
  void copy_within(uint32_t, void*, void*, uint64_t, void*, uint64_t, uint64_t) {}
  void fill(uint32_t, void*, void*, uint64_t, uint64_t, const void*, uint32_t) {}
};

Meta g_meta;

}  // namespace

void start_meta(Registry& registry, const tn_dispatch& dispatch) {
  register_devices(registry, "meta", g_meta);
  std::vector<tn_kernel> kernels;
  for (uint32_t i = 0; i < dispatch.op_count(); ++i)
    kernels.push_back(make_kernel(view_of(dispatch.op_schema(dispatch.op_at(i))),
                                  TN_MASK_ALL | TN_MASK_F8, &run, 0,
                                  TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS | TN_KERNEL_ANY_DIM));
  registry.kernels("meta", kernels);
}
