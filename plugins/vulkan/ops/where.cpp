// where and clamp.
#include <algorithm>
#include <cmath>

#include "elementwise.hpp"
#include "shaders/choose.hpp"
#include "shaders/clamp.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

// Kernels are chosen by the first tensor, the condition, so the others may have any dtype.
void run_where(const tn_call& call, uint32_t) {
  run_elementwise(call, shaders::choose, Compute::kI32, size_of(output(call).dtype));
}

bool chooses_known(const tn_call& call, uint32_t) {
  return (kAll & TN_MASK(output(call).dtype)) != 0;
}

struct Range {
  int64_t low, high;
};
Range range_of(tn_dtype dtype) {
  const bool is_signed = dtype >= TN_DTYPE_I8;
  const uint32_t bits = 8 * size_of(dtype) - (is_signed ? 1 : 0);
  const int64_t high = bits == 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
  return {is_signed ? -high - 1 : 0, high};
}

std::array<uint32_t, 4> whole_bounds(const tn_call& call) {
  const Range range = range_of(output(call).dtype);
  const auto bound = [&](uint32_t arg, int64_t otherwise) {
    const tn_value& value = call.args[arg];
    return value.tag == TN_VALUE_NONE ? otherwise : std::clamp(value.as.i, range.low, range.high);
  };
  std::array<uint32_t, 4> words;
  const int64_t bounds[] = {bound(arg::clamp::min, range.low), bound(arg::clamp::max, range.high)};
  for (uint32_t k = 0; k < 2; ++k) {
    words[2 * k] = static_cast<uint32_t>(bounds[k]);
    words[2 * k + 1] = static_cast<uint32_t>(static_cast<uint64_t>(bounds[k]) >> 32);
  }
  return words;
}

void run_clamp(const tn_call& call, uint32_t) {
  const Compute compute = compute_of(output(call).dtype);
  const auto bound = [&](uint32_t arg, double otherwise) {
    return call.args[arg].tag == TN_VALUE_NONE ? otherwise : real_arg(call, arg);
  };
  if (compute == Compute::kI32 || compute == Compute::kI64)
    return run_elementwise(call, shaders::clamp, compute, 0, whole_bounds(call));
  run_elementwise(
      call, shaders::clamp, compute, 0,
      attributes(compute, bound(arg::clamp::min, -HUGE_VAL), bound(arg::clamp::max, HUGE_VAL)));
}

}  // namespace

void add_where_kernels(KernelList& list) {
  list.add_elementwise(TN_SCHEMA_WHERE, TN_MASK_BOOL, run_where, 0, chooses_known);
  list.add_elementwise(TN_SCHEMA_CLAMP, kReals, run_clamp);
}

}  // namespace tenon::vulkan
