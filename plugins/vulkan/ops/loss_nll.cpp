// nll_loss and its backward over log_probs (N, C, S). Targets are checked on the device.
#include "fold.hpp"
#include "shaders/nll_loss.hpp"
#include "shaders/nll_loss_backward.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Reduction : uint32_t { kNone, kMean, kTotal };  // as shaders/nll_loss.comp

Reduction reduction_of(std::string_view text) {
  return text == "none" ? kNone : text == "mean" ? kMean : kTotal;
}

struct Extent {
  int64_t c, s = 1;
  explicit Extent(const tn_view& x) : c(x.shape[x.ndim == 1 ? 0 : 1]) {
    for (uint32_t d = 2; d < x.ndim; ++d) s *= x.shape[d];
  }
};

FoldPlan plan_of(const tn_call& call) {
  return plan_fold({}, {{numel(input(call, arg::nll_loss::target)), 1}}, device_of(call));
}

void run_loss(const tn_call& call, uint32_t) {
  using arg = tenon::arg::nll_loss;
  const tn_view &x = input(call, arg::log_probs), &loss = output(call),
                &total = output(call, arg::result::total_weight);
  const Reduction reduction = reduction_of(text_arg(call, arg::reduction));
  const auto ignore = static_cast<uint64_t>(call.args[arg::ignore_index].as.i);
  const Extent e(x);
  const tn_view* weight = input_or_null(call, arg::weight);
  const FoldPlan plan = plan_of(call);
  run_fold(call, plan,
           {shaders::nll_loss,
            compute_of(x.dtype),
            reduction,
            {x.dtype, weight != nullptr},
            {{reduction == kNone ? &total : &loss}, {&total}},
            {&x, &input(call, arg::target), weight, reduction == kNone ? &loss : nullptr},
            {static_cast<uint32_t>(e.c), static_cast<uint32_t>(e.s), static_cast<uint32_t>(ignore),
             static_cast<uint32_t>(ignore >> 32)},
            0,
            reduction == kNone ? 1u << 3 : 0,
            {"nll_loss", x.ndim == 1 ? 0 : 1, e.c}});
}

uint64_t scratch(const tn_call& call, uint32_t) { return fold_scratch(plan_of(call)); }

void run_backward(const tn_call& call, uint32_t) {
  using arg = tenon::arg::nll_loss_backward;
  const tn_view& gx = output(call);
  const int64_t count = numel(gx);
  if (count == 0) return;
  const Extent e(gx);
  const tn_view* weight = input_or_null(call, arg::weight);
  const auto ignore = static_cast<uint64_t>(call.args[arg::ignore_index].as.i);
  Launch launch(call, shaders::nll_loss_backward, compute_of(gx.dtype));
  launch.constant(reduction_of(text_arg(call, arg::reduction)))
      .constant(gx.dtype)
      .constant(weight != nullptr);
  launch.out(gx).in(input(call, arg::g)).in(input(call, arg::target));
  weight != nullptr ? launch.in(*weight) : launch.none();
  launch.in(input(call, arg::total_weight)).check("nll_loss_backward", gx.ndim == 1 ? 0 : 1, e.c);
  launch.word(count)
      .word(e.c)
      .word(e.s)
      .word(static_cast<uint32_t>(ignore))
      .word(static_cast<uint32_t>(ignore >> 32));
  launch.elements(count);
}

}  // namespace

void add_loss_nll_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_NLL_LOSS,
            .dtypes = kFloats | kDouble,
            .run = run_loss,
            .scratch = scratch});
  list.add(
      {.schema = TN_SCHEMA_NLL_LOSS_BACKWARD, .dtypes = kFloats | kDouble, .run = run_backward});
}

}  // namespace tenon::vulkan
