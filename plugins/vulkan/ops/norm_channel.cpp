// batch_norm, group_norm and their backwards over (N, C, S): folds for shared values, then one pass over the elements.
#include "../../common/norm_call.hpp"
#include "norms.hpp"
#include "shaders/moments.hpp"
#include "shaders/norm_apply.hpp"
#include "shaders/norm_sums.hpp"
#include "shaders/pairs.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

struct Extent : ChannelNorm {
  using ChannelNorm::ChannelNorm;
  Sharing sharing() const { return {batch ? s : width * s, statistics(), s, c}; }
  // For each set that shares statistics; for each channel, and for group_norm each sample.
  FoldPlan shared(const tn_call& call) const {
    if (!batch) return plan_fold({{n * groups, width * s}}, {{width * s, 1}}, device_of(call));
    return channels(call);
  }
  FoldPlan channels(const tn_call& call) const {
    if (!batch) return plan_fold({{n * c, s}}, {{s, 1}}, device_of(call));
    return plan_fold({{c, s}}, {{n, c * s}, {s, 1}}, device_of(call));
  }
  uint64_t means_bytes() const { return static_cast<uint64_t>(statistics()) * 16; }  // a, b
  uint64_t sums_bytes() const {
    return batch ? 0 : static_cast<uint64_t>(n * c) * 8;
  }  // of each channel and sample
};

void run_forward(const tn_call& call, uint32_t op) {
  using batch_arg = arg::batch_norm;
  using group_arg = arg::group_norm;
  const Extent e(call, op);
  const Compute compute = compute_of(e.x->dtype);
  const tn_view &mean = output(call, batch_arg::result::mean),
                &rstd = output(call, batch_arg::result::rstd);
  const std::vector<uint32_t> eps =
      real_words(real_arg(call, e.batch ? batch_arg::eps : group_arg::eps));
  if (e.batch && call.args[batch_arg::training].as.i == 0) {
    if (e.c == 0) return;
    Launch launch(call, shaders::norm_apply, compute);
    launch.constant(kRunning)
        .out(mean)
        .out(rstd)
        .in(input(call, batch_arg::running_mean))
        .in(input(call, batch_arg::running_var));
    launch.word(e.c);
    for (uint32_t k = 0; k < 4; ++k) launch.word(uint32_t{0});
    for (const uint32_t word : eps) launch.word(word);
    launch.elements(e.c);
  } else {
    run_fold(call, e.shared(call),
             {shaders::moments,
              compute,
              kMoments,
              {statistic_of(*e.x), e.x->dtype},
              {{&mean}, {&rstd}},
              {e.x},
              eps});
  }
  const tn_view *weight = input_or_null(call, e.batch ? batch_arg::weight : group_arg::weight),
                *bias = input_or_null(call, e.batch ? batch_arg::bias : group_arg::bias);
  run_apply(call, kForward, {e.x, &mean, &rstd, weight, bias, {}}, e.sharing());
}

void run_backward(const tn_call& call, uint32_t op) {
  using arg = tenon::arg::batch_norm_backward;
  const Extent e(call, op);
  if (e.c == 0) return;
  const Compute compute = compute_of(e.x->dtype);
  const tn_view &g = input(call, arg::g), &mean = input(call, arg::mean),
                &rstd = input(call, arg::rstd);
  const tn_view* weight = input_or_null(call, arg::weight);
  const Place means{nullptr, 0, e.means_bytes()}, gweight{&output(call, arg::result::gweight)},
      gbias{&output(call, arg::result::gbias)};
  const Place dots = e.batch ? gweight : Place{nullptr, e.means_bytes(), e.sums_bytes()};
  const Place sums =
      e.batch ? gbias : Place{nullptr, e.means_bytes() + e.sums_bytes(), e.sums_bytes()};
  run_fold(call, e.channels(call),
           {shaders::pairs,
            compute,
            kCentred,
            {statistic_of(*e.x), e.x->dtype},
            {dots, sums},
            {&g, e.x, &mean, &rstd},
            {0, static_cast<uint32_t>(e.width)},
            2},
           e.means_bytes() + 2 * e.sums_bytes());
  const auto sum_up = [&](Sums which, const Place& a, const Place& b, int64_t results) {
    if (results == 0) return;
    Launch launch(call, shaders::norm_sums, compute);
    launch.constant(which).constant(weight != nullptr);
    for (const Place& place : {a, b, dots, sums}) place.bind(launch);
    weight != nullptr ? launch.in(*weight) : launch.none();
    const bool fixed = e.batch && call.args[arg::training].as.i == 0;
    launch.word(results)
        .word(e.width)
        .word(e.c)
        .word(fixed     ? int64_t{0}
              : e.batch ? e.n * e.s
                        : e.width * e.s)
        .word(e.n);
    launch.elements(results);
  };
  if (!e.batch) sum_up(kParameters, gweight, gbias, e.c);
  sum_up(kMeans, means, {}, e.statistics());
  run_apply(call, kBackward, {e.x, &mean, &rstd, weight, &g, means}, e.sharing());
}

uint64_t scratch(const tn_call& call, uint32_t op) {
  const Extent e(call, op);
  if (!ChannelNorm::is_backward(op)) return fold_scratch(e.shared(call));
  return e.means_bytes() + 2 * e.sums_bytes() + fold_scratch(e.channels(call));
}

}  // namespace

void add_norm_channel_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, ChannelNorm::Op op) {
    list.add({.schema = schema,
              .dtypes = kFloats | kDouble,
              .run = ChannelNorm::is_backward(op) ? run_backward : run_forward,
              .code = op,
              .scratch = scratch});
  };
  add(TN_SCHEMA_BATCH_NORM, ChannelNorm::kBatch);
  add(TN_SCHEMA_GROUP_NORM, ChannelNorm::kGroup);
  add(TN_SCHEMA_BATCH_NORM_BACKWARD, ChannelNorm::kBatchBackward);
  add(TN_SCHEMA_GROUP_NORM_BACKWARD, ChannelNorm::kGroupBackward);
}

}  // namespace tenon::vulkan
