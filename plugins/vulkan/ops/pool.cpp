// Pooling and its gradients: an invocation for each result; max_pool_backward is a scatter of sums.
#include <algorithm>

#include "ops/index_deposit.hpp"
#include "shaders/pool.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Code : uint32_t {
  kMaximum,
  kAverage,
  kAverageTogether,
  kAverageBackward
};  // as shaders/pool.comp
enum Op : uint32_t {
  kMaxPool,
  kAvgPool,
  kAvgPoolBackward,
  kAdaptiveMax,
  kAdaptiveAvg,
  kAdaptiveAvgBackward
};

// Where each op has its attributes; 0: it has none.
struct Attributes {
  Code code;
  bool adaptive;
  uint32_t kernel, stride, padding, dilation, include_pad;
};
using max_arg = arg::max_pool;
using avg_arg = arg::avg_pool;
using avg_backward_arg = arg::avg_pool_backward;
constexpr Attributes kAttributes[] = {
    {kMaximum, false, max_arg::kernel, max_arg::stride, max_arg::padding, max_arg::dilation, 0},
    {kAverage, false, avg_arg::kernel, avg_arg::stride, avg_arg::padding, 0,
     avg_arg::count_include_pad},
    {kAverageBackward, false, avg_backward_arg::kernel, avg_backward_arg::stride,
     avg_backward_arg::padding, 0, avg_backward_arg::count_include_pad},
    {kMaximum, true, 0, 0, 0, 0, 0},
    {kAverage, true, 0, 0, 0, 0, 0},
    {kAverageBackward, true, 0, 0, 0, 0, 0}};

// Elements of a window from which on a workgroup shares it.
constexpr int64_t kLargeWindow = 256;

struct Geometry {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
          padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  int64_t window = 1;  // about as many elements

  Geometry(const tn_call& call, const Attributes& at) {
    const bool backward = at.code == kAverageBackward;
    const tn_view& x = backward ? output(call) : input(call, max_arg::x);
    const tn_view& y = backward ? input(call, avg_backward_arg::g) : output(call);
    const uint32_t lead = 5 - x.ndim;
    for (uint32_t d = lead; d < 3; ++d) {
      const uint32_t s = d - lead;
      in[d] = x.shape[2 + s];
      out[d] = y.shape[2 + s];
      if (!at.adaptive) {
        kernel[d] = call.args[at.kernel].as.ints[s];
        stride[d] = call.args[at.stride].as.ints[s];
        padding[d] = call.args[at.padding].as.ints[s];
        if (at.dilation != 0) dilation[d] = call.args[at.dilation].as.ints[s];
      }
      window *= at.adaptive ? (in[d] + out[d] - 1) / std::max<int64_t>(out[d], 1) : kernel[d];
    }
  }
};

void run_pool(const tn_call& call, uint32_t op) {
  const Attributes& at = kAttributes[op];
  const tn_view &x = input(call, max_arg::x), &out = output(call);  // x: g of a gradient
  if (numel(out) == 0) return;
  const Geometry g(call, at);
  const Code code = at.code == kAverage && g.window >= kLargeWindow ? kAverageTogether : at.code;
  Launch launch(call, shaders::pool, compute_of(out.dtype));
  launch.constant(code).constant(out.dtype).constant(at.adaptive ? 1 : 0);
  launch.out(out);
  in_or_none(launch, x);
  if (code == kMaximum) launch.out(output(call, max_arg::result::indices));
  launch.word(numel(out))
      .word(at.include_pad != 0 && call.args[at.include_pad].as.i != 0 ? 1u : 0u);
  std::vector<uint32_t> table;
  for (const auto* list : {&g.in, &g.out, &g.kernel, &g.stride, &g.padding, &g.dilation})
    for (const int64_t value : *list) table.push_back(static_cast<uint32_t>(value));
  launch.table(table);
  if (code == kAverageTogether)
    launch.groups(numel(out));
  else
    launch.elements(numel(out));
}

// Products of the sizes are counted in 32 bits.
bool pool_supported(const tn_call& call, uint32_t op) {
  const Geometry g(call, kAttributes[op]);
  for (uint32_t d = 0; d < 3; ++d)
    if ((g.in[d] + 1) * (g.out[d] + 1) > INT32_MAX && kAttributes[op].adaptive) return false;
  for (uint32_t d = 0; d < 3; ++d)
    if (g.out[d] * g.stride[d] + g.kernel[d] * g.dilation[d] + g.in[d] > INT32_MAX) return false;
  return true;
}

// args: g, indices, shape
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
  const auto add = [&](std::string_view schema, uint64_t dtypes, Op op) {
    list.add({.schema = schema,
              .dtypes = dtypes,
              .run = run_pool,
              .code = op,
              .supports = pool_supported});
  };
  add(TN_SCHEMA_MAX_POOL, kReals, kMaxPool);
  add(TN_SCHEMA_ADAPTIVE_MAX_POOL, kReals, kAdaptiveMax);
  add(TN_SCHEMA_AVG_POOL, kFloats | kDouble, kAvgPool);
  add(TN_SCHEMA_AVG_POOL_BACKWARD, kFloats | kDouble, kAvgPoolBackward);
  add(TN_SCHEMA_ADAPTIVE_AVG_POOL, kFloats | kDouble, kAdaptiveAvg);
  add(TN_SCHEMA_ADAPTIVE_AVG_POOL_BACKWARD, kFloats | kDouble, kAdaptiveAvgBackward);
  list.add({.schema = TN_SCHEMA_MAX_POOL_BACKWARD,
            .dtypes = kReals,
            .run = run_max_backward,
            .supports = max_backward_fits,
            .scratch = max_backward_scratch});
}

}  // namespace tenon::vulkan
