// Conversions between dtypes, each in the narrowest arithmetic that can represent both.
#include "elementwise.hpp"
#include "shaders/cast.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

void run_cast(const tn_call& call, uint32_t) {
  const uint64_t both = TN_MASK(input(call, arg::cast::x).dtype) | TN_MASK(output(call).dtype);
  const Compute compute = (both & kDouble) != 0     ? Compute::kF64
                          : (both & kLongInts) != 0 ? Compute::kI64
                                                    : Compute::kF32;
  run_elementwise(call, shaders::cast, compute, 0);
}

bool knows_target(const tn_call& call, uint32_t) {
  return (kAll & TN_MASK(output(call).dtype)) != 0;
}

}  // namespace

void add_copy_cast_kernels(KernelList& list) {
  list.add_elementwise(TN_SCHEMA_CAST, kAll, run_cast, 0, knows_target);
}

}  // namespace tenon::vulkan
