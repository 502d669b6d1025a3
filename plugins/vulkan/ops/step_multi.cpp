// The norm of a list of tensors, and scaling: together they clip gradients. Sums run in f64 if the device has it, otherwise in f32.
#include <algorithm>
#include <cmath>

#include "elementwise.hpp"
#include "shaders/multi.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Code : uint32_t { kSums, kNorm, kScale };  // as shaders/multi.comp

// Workgroups for a tensor, and so its number of partial sums.
int64_t sums_of(const tn_view& x) { return std::clamp<int64_t>((numel(x) + 4095) / 4096, 0, 256); }

int64_t all_sums(const tn_call& call) {
  int64_t sums = 0;
  for (uint32_t k = 0; k < call.args[arg::multi_norm::xs].count; ++k)
    sums += sums_of(*call.args[arg::multi_norm::xs].as.views[k]);
  return sums;
}

uint64_t scratch(const tn_call& call, uint32_t) {
  return 8 * static_cast<uint64_t>(std::max<int64_t>(1, all_sums(call)));
}

void run_norm(const tn_call& call, uint32_t) {
  const double p = real_arg(call, arg::multi_norm::p);
  const uint32_t kind = p == 2 ? 2 : p == 1 ? 1 : std::isinf(p) ? 0 : 3;
  const bool wide = (backend().physical(call.device_index).dtypes & kDouble) != 0;
  const Compute compute = wide ? Compute::kF64 : Compute::kF32;
  const auto power = attributes(compute, p);
  const int64_t count = all_sums(call);
  int64_t done = 0;
  for (uint32_t k = 0; k < call.args[arg::multi_norm::xs].count; ++k) {
    const tn_view& x = *call.args[arg::multi_norm::xs].as.views[k];
    if (numel(x) == 0) continue;
    Launch launch(call, shaders::multi, compute);
    launch.constant(kSums).constant(0).constant(x.dtype).constant(kind);
    launch.scratch(0, scratch(call, 0)).in(x);
    launch.word(numel(x)).word(done).word(power[0]).word(power[1]);
    launch.groups(sums_of(x));
    done += sums_of(x);
  }
  Launch launch(call, shaders::multi, compute);
  launch.constant(kNorm).constant(output(call).dtype).constant(0).constant(kind);
  launch.out(output(call)).scratch(0, scratch(call, 0));
  launch.word(count).word(0u).word(power[0]).word(power[1]);
  launch.groups(1);
}

void run_scale(const tn_call& call, uint32_t) {
  const tn_view& factor = input(call, arg::multi_scale::factor);
  for (uint32_t k = 0; k < call.args[arg::multi_scale::xs].count; ++k) {
    const tn_view& x = *call.args[arg::multi_scale::xs].as.views[k];
    Launch launch(call, shaders::multi, compute_of(x.dtype));
    launch.constant(kScale).constant(x.dtype).constant(factor.dtype);
    launch.out(x).in(x).in(factor);
    launch.word(numel(x));
    launch.elements(numel(x));
  }
}

// The factor is read in the type that the tensor is computed in.
bool reads_factor(const tn_call& call, uint32_t) {
  const tn_dtype factor = input(call, arg::multi_scale::factor).dtype;
  for (uint32_t k = 0; k < call.args[arg::multi_scale::xs].count; ++k) {
    const Compute compute = compute_of(call.args[arg::multi_scale::xs].as.views[k]->dtype);
    if (factor != TN_DTYPE_F32 && compute_of(factor) != compute) return false;
  }
  return true;
}

}  // namespace

void add_step_multi_kernels(KernelList& list) {
  constexpr uint64_t kRealFloats = kFloats | kDouble;
  list.add(
      {.schema = TN_SCHEMA_MULTI_NORM, .dtypes = kRealFloats, .run = run_norm, .scratch = scratch});
  list.add({.schema = TN_SCHEMA_MULTI_SCALE,
            .dtypes = kRealFloats,
            .run = run_scale,
            .flags = TN_KERNEL_HOST_SCALARS,
            .supports = reads_factor});
}

}  // namespace tenon::vulkan
