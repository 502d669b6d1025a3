// softmax_cross_entropy and its backward: read the logits once each, in their own dtype. Targets are checked on the device.
#include "fold.hpp"
#include "shaders/cross_entropy.hpp"
#include "shaders/cross_entropy_backward.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

FoldPlan plan_of(const tn_call& call) {
  const tn_view& x = input(call, arg::softmax_cross_entropy::logits);
  return plan_fold({{x.shape[0], x.shape[1]}}, {{x.shape[1], 1}}, device_of(call));
}

void run_forward(const tn_call& call, uint32_t) {
  using arg = tenon::arg::softmax_cross_entropy;
  const tn_view &x = input(call, arg::logits), &loss = output(call),
                &counted = output(call, arg::result::counted),
                &lse = output(call, arg::result::lse);
  const tn_view* weight = input_or_null(call, arg::weight);
  const auto ignore = static_cast<uint64_t>(call.args[arg::ignore_index].as.i);
  run_fold(call, plan_of(call),
           {shaders::cross_entropy,
            compute_of(x.dtype),
            0,
            {lse.dtype, x.dtype, weight != nullptr},
            {{&lse}, {&counted}},
            {&x, &input(call, arg::target), weight, &loss},
            {static_cast<uint32_t>(x.shape[1]), static_cast<uint32_t>(ignore),
             static_cast<uint32_t>(ignore >> 32)},
            1,
            1u << 3,
            {"softmax_cross_entropy", 1, x.shape[1]}});
}

// Means and sums are made from this kernel's results.
bool is_of_rows(const tn_call& call, uint32_t) {
  return text_arg(call, arg::softmax_cross_entropy::reduction) == "none";
}

uint64_t scratch(const tn_call& call, uint32_t) { return fold_scratch(plan_of(call)); }

void run_backward(const tn_call& call, uint32_t) {
  using arg = tenon::arg::softmax_cross_entropy_backward;
  const tn_view& x = input(call, arg::logits);
  const int64_t count = numel(x);
  if (count == 0) return;
  Launch launch(call, shaders::cross_entropy_backward, compute_of(x.dtype));
  launch.constant(x.dtype).constant(input(call, arg::lse).dtype);
  launch.out(output(call)).in(x).in(input(call, arg::g)).in(input(call, arg::target));
  launch.in(input(call, arg::counted)).in(input(call, arg::lse));
  launch.word(count).word(x.shape[1]).word(input(call, arg::g).ndim);
  launch.elements(count);
}

}  // namespace

void add_loss_cross_entropy_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_SOFTMAX_CROSS_ENTROPY,
            .dtypes = kFloats | kDouble,
            .run = run_forward,
            .supports = is_of_rows,
            .scratch = scratch});
  list.add({.schema = TN_SCHEMA_SOFTMAX_CROSS_ENTROPY_BACKWARD,
            .dtypes = kFloats | kDouble,
            .run = run_backward});
}

}  // namespace tenon::vulkan
