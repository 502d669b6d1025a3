// clone and contiguous: elements from one layout to another.
#include "shaders/copy.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

void run_copy(const tn_call& call, uint32_t) {
  run_elementwise(call, shaders::copy, Compute::kI32, size_of(output(call).dtype));
}

}  // namespace

void add_copy_kernels(KernelList& list) {
  for (const auto schema : {TN_SCHEMA_CLONE, TN_SCHEMA_CONTIGUOUS})
    add_elementwise(list, schema, kAll, run_copy);
}

}  // namespace tenon::vulkan
