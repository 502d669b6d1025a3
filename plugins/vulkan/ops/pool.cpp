// Pooling and its gradients: one invocation for each result. max_pool_backward is a scatter that adds.
#include "shaders/pool.hpp"
#include "../common/pool_geometry.hpp"
#include "ops/index_deposit.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Code : uint32_t {
  kMaximum,
  kAverage,
  kAverageTogether,
  kAverageBackward
};  // as shaders/pool.comp

// From this window size on, a workgroup shares a window.
constexpr int64_t kLargeWindow = 256;

Code code_of(const PoolGeometry& g) {
  if (g.maximum) return kMaximum;
  if (g.backward) return kAverageBackward;
  return g.window() >= kLargeWindow ? kAverageTogether : kAverage;
}

void run_pool(const tn_call& call, uint32_t op) {
  using arg = tenon::arg::max_pool;
  const tn_view &x = input(call, arg::x), &out = output(call);  // x: g in a gradient
  if (numel(out) == 0) return;
  const PoolGeometry g(call, op);
  const Code code = code_of(g);
  Launch launch(call, shaders::pool, compute_of(out.dtype));
  launch.constant(code).constant(out.dtype).constant(g.adaptive ? 1 : 0);
  launch.out(out);
  in_or_none(launch, x);
  if (code == kMaximum) launch.out(output(call, arg::result::indices));
  launch.word(numel(out)).word(g.include_pad ? 1u : 0u);
  std::vector<uint32_t> table;
  for (const auto* list : {&g.in, &g.out, &g.kernel, &g.stride, &g.padding, &g.dilation})
    for (const int64_t value : *list) table.push_back(static_cast<uint32_t>(value));
  launch.table(table);
  if (code == kAverageTogether)
    launch.groups(numel(out));
  else
    launch.elements(numel(out));
}

bool pool_supported(const tn_call& call, uint32_t op) { return PoolGeometry(call, op).fits(); }

Deposit read_max_backward(const tn_call& call) {
  Deposit d;
  d.places = numel(output(call));
  d.rows = numel(input(call, arg::max_pool_backward::g));
  d.add = true;
  d.source = &input(call, arg::max_pool_backward::g);
  return d;
}

void run_max_backward(const tn_call& call, uint32_t) {
  const tn_view &indices = input(call, arg::max_pool_backward::indices), &out = output(call);
  const Deposit d = read_max_backward(call);
  const int64_t planes = out.shape[0] * out.shape[1];
  if (planes == 0) return;
  keys_of_list(call, d, "max_pool_backward", indices,
               {.size = d.places / planes, .plane = d.rows / planes, .dim = 2});
  if (d.places > 0) finish_deposit(call, d);
}

uint64_t max_backward_scratch(const tn_call& call, uint32_t) {
  return read_max_backward(call).bytes();
}

bool max_backward_fits(const tn_call& call, uint32_t) { return read_max_backward(call).fits(); }

}  // namespace

void add_pool_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, uint64_t dtypes, PoolOp op) {
    list.add({.schema = schema,
              .dtypes = dtypes,
              .run = run_pool,
              .code = op,
              .supports = pool_supported});
  };
  add(TN_SCHEMA_MAX_POOL, kReals, kMaxPool);
  add(TN_SCHEMA_ADAPTIVE_MAX_POOL, kReals, kAdaptiveMaxPool);
  add(TN_SCHEMA_AVG_POOL, kFloats | kDouble, kAvgPool);
  add(TN_SCHEMA_AVG_POOL_BACKWARD, kFloats | kDouble, kAvgPoolBackward);
  add(TN_SCHEMA_ADAPTIVE_AVG_POOL, kFloats | kDouble, kAdaptiveAvgPool);
  add(TN_SCHEMA_ADAPTIVE_AVG_POOL_BACKWARD, kFloats | kDouble, kAdaptiveAvgPoolBackward);
  list.add({.schema = TN_SCHEMA_MAX_POOL_BACKWARD,
            .dtypes = kReals,
            .run = run_max_backward,
            .supports = max_backward_fits,
            .scratch = max_backward_scratch});
}

}  // namespace tenon::vulkan
