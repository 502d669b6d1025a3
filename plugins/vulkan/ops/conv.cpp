// conv, conv_backward_input and conv_backward_weight: products of gathered matrices; depthwise ones directly.
#include <algorithm>
#include <array>

#include "../common/conv_geometry.hpp"
#include "ops/index_deposit.hpp"
#include "ops/tiles.hpp"
#include "shaders/conv.hpp"
#include "shaders/conv_direct.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

using Pass = ConvPass;  // as shaders/conv.glsl
using Geometry = ConvGeometry;
using Three = Geometry::Three;
int64_t product(const Three& sizes) { return Geometry::product(sizes); }

// Derived from a call, the same for its scratch size and its run.
struct Plan {
  Geometry g;
  Pass pass;
  Compute compute;
  Extent size{};
  bool direct = false;
  Tiles tiles{};
  Parts parts;

  Plan(const tn_call& call, uint32_t code)
      : g(call, static_cast<Pass>(code)),
        pass(static_cast<Pass>(code)),
        compute(compute_of(output(call).dtype)) {
    const int64_t taps = product(g.kernel), outs = g.batch * product(g.out);
    if (pass == kForward) size = {g.filters, outs, g.channels * taps};
    if (pass == kInput) size = {g.channels, g.batch * product(g.in), g.filters * taps};
    if (pass == kWeight) size = {g.filters, g.channels * taps, outs};
    direct = size.m <= 4 && (pass != kWeight || size.n <= 32);
    parts.length = size.k;
    if (direct || size.m == 0 || size.n == 0) return;
    tiles = choose_tiles(size, g.groups, compute, device_of(call),
                         pass == kWeight ? kGatheredSplit : kGathered);
    if (pass == kWeight) parts = split_sum(size.k, tiles.count(size) * g.groups, device_of(call));
  }
  int64_t results() const { return g.groups * size.m * size.n; }
  uint64_t partial_bytes() const {
    return parts.count == 1 ? 0
                            : static_cast<uint64_t>(parts.count * results()) * sum_bytes(compute);
  }
};

// In the order that shaders/conv.glsl reads: constants from the third on, words from the fourth on, table.
void give_constants(Launch& launch, const Plan& plan, tn_dtype dtype) {
  launch.constant(dtype)
      .constant(plan.parts.count > 1 ? sum_dtype(plan.compute) : dtype)
      .constant(plan.pass);
  for (const int64_t size : plan.g.kernel) launch.constant(static_cast<uint32_t>(size));
}

void give_geometry(Launch& launch, const Plan& plan, bool bias) {
  const Geometry& g = plan.g;
  const bool strided = g.stride != Three{1, 1, 1};
  launch.word(g.groups)
      .word(g.channels)
      .word(g.filters)
      .word(bias ? 1u : 0u)
      .word(strided ? 1u : 0u);
  launch.word(plan.parts.count).word(plan.parts.length);
  std::vector<uint32_t> table;
  const Three& places = plan.pass == kInput ? g.in : g.out;
  const Three& source = plan.pass == kInput ? g.out : g.in;
  for (const Three* list : {&places, &source, &g.stride, &g.padding, &g.dilation})
    for (const int64_t value : *list) table.push_back(static_cast<uint32_t>(value));
  launch.table(table);
}

void run(const tn_call& call, uint32_t code) {
  const Plan plan(call, code);
  const tn_view& out = output(call);
  if (numel(out) == 0) return;
  const tn_view* bias = plan.pass == kForward ? input_or_null(call, arg::conv::bias) : nullptr;
  Launch launch(call, plan.direct ? shaders::conv_direct : shaders::conv, plan.compute);
  if (plan.direct)
    launch.constant(0).constant(0);
  else
    launch.constant(plan.tiles.code())
        .constant(plan.tiles.rows)
        .group_size(plan.tiles.invocations());
  give_constants(launch, plan, out.dtype);
  if (plan.parts.count > 1)
    launch.scratch(0, plan.partial_bytes());
  else
    launch.out(out);
  // The gathered operand comes last. conv_backward_input has g in the position of conv's x.
  in_or_none(launch,
             input(call, plan.pass == kWeight ? arg::conv_backward_weight::g : arg::conv::weight));
  in_or_none(launch,
             input(call, plan.pass == kWeight ? arg::conv_backward_weight::x : arg::conv::x));
  if (bias != nullptr) launch.in(*bias);
  if (plan.direct) {
    launch.word(numel(out)).word(0u).word(plan.size.k);
  } else {
    launch.word(plan.size.m).word(plan.size.n).word(plan.size.k);
  }
  give_geometry(launch, plan, bias != nullptr);
  if (plan.direct && plan.pass != kWeight) {
    launch.elements(numel(out));
  } else {
    launch.groups(plan.direct ? numel(out)
                              : plan.tiles.count(plan.size) * plan.g.groups * plan.parts.count);
  }
  if (plan.parts.count > 1) add_parts(call, plan.compute, plan.results(), plan.parts);
}

uint64_t scratch(const tn_call& call, uint32_t code) { return Plan(call, code).partial_bytes(); }

// Too large for specialization constants and the tables of a plane.
bool supports(const tn_call& call, uint32_t code) {
  const Geometry g(call, static_cast<Pass>(code));
  for (uint32_t d = 0; d < 3; ++d)
    if (g.in[d] + 2 * g.padding[d] + g.kernel[d] * g.dilation[d] > INT32_MAX ||
        g.out[d] * g.stride[d] > INT32_MAX)
      return false;
  return true;
}

}  // namespace

void add_conv_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Pass pass) {
    list.add({.schema = schema,
              .dtypes = kReals,
              .run = run,
              .code = pass,
              .supports = supports,
              .scratch = scratch});
  };
  add(TN_SCHEMA_CONV, kForward);
  add(TN_SCHEMA_CONV_BACKWARD_INPUT, kInput);
  add(TN_SCHEMA_CONV_BACKWARD_WEIGHT, kWeight);
}

}  // namespace tenon::vulkan
