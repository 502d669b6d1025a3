// batch_norm, group_norm and their backwards over (N, C, S): folds for shared values, then one pass over the elements. Groups that fit into
// a block take a single pass.
#include <cmath>

#include "../../common/norm_call.hpp"
#include "norms.hpp"

namespace tenon::gpu {
namespace {

template <class C>
GPU_KERNEL running_statistics(int64_t count, Ptr<const C> running_mean, Ptr<const C> variance,
                              Ptr<C> mean, Ptr<C> rstd, C eps) {
  for (int64_t i = first_thread(); i < count; i += thread_count()) {
    const C m = running_mean[i], v = variance[i];
    mean[i] = m;
    rstd[i] = C(1) / std::sqrt(v + eps);
  }
}

// Turns the sums of a channel, Σ g·x̂ and Σ g, into means over the `width` channels that share statistics.
template <class C>
GPU_KERNEL group_means(int64_t groups, int64_t width, int64_t channels, C over, Ptr<const C> dots,
                       Ptr<const C> sums, Ptr<const C> weight, Ptr<C> a, Ptr<C> b) {
  for (int64_t i = first_thread(); i < groups; i += thread_count()) {
    C dot = C(0), sum = C(0);
    for (int64_t at = i * width; at < (i + 1) * width; ++at) {
      C w = C(1);
      if (weight != nullptr) w = weight[at % channels];
      dot += w * dots[at];
      sum += w * sums[at];
    }
    a[i] = sum * over;
    b[i] = dot * over;
  }
}
// Turns them into gradients of parameters, over all samples.
template <class C>
GPU_KERNEL sample_sums(int64_t channels, int64_t samples, Ptr<const C> dots, Ptr<const C> sums,
                       Ptr<C> gweight, Ptr<C> gbias) {
  for (int64_t i = first_thread(); i < channels; i += thread_count()) {
    C dot = C(0), sum = C(0);
    for (int64_t n = 0; n < samples; ++n) {
      dot += dots[n * channels + i];
      sum += sums[n * channels + i];
    }
    gweight[i] = dot;
    gbias[i] = sum;
  }
}

struct Extent : ChannelNorm {
  using ChannelNorm::ChannelNorm;
  bool fit() const { return !batch && norm_rows_fit(x->dtype, n * groups, width * s); }
  Cycle statistics_of() const { return {batch ? s : width * s, statistics()}; }
  Cycle parameters_of() const { return {s, c}; }
  // For each set that shares statistics; for each channel, and for group_norm each sample.
  FoldShape shared() const {
    return batch ? channels() : plan_fold({{n * groups, width * s}}, {{width * s, 1}});
  }
  FoldShape channels() const {
    return batch ? plan_fold({{c, s}}, {{n, c * s}, {s, 1}}) : plan_fold({{n * c, s}}, {{s, 1}});
  }
  // Layout of scratch: a, b; for group_norm the sums of each channel and sample; then the folds'.
  Slot means(int64_t which) const { return {nullptr, 8 * which * statistics(), statistics()}; }
  Slot sums(int64_t which) const { return {nullptr, 16 * statistics() + 8 * which * n * c, n * c}; }
  uint64_t fold_at() const {
    return static_cast<uint64_t>(16 * statistics() + (batch ? 0 : 16 * n * c) + 63) / 64 * 64;
  }
};

void run_forward(const tn_call& call, uint32_t op) {
  using batch_arg = arg::batch_norm;
  using group_arg = arg::group_norm;
  const Extent e(call, op);
  const tn_view &mean = output(call, batch_arg::result::mean),
                &rstd = output(call, batch_arg::result::rstd);
  const tn_view *weight = input_or_null(call, e.batch ? batch_arg::weight : group_arg::weight),
                *bias = input_or_null(call, e.batch ? batch_arg::bias : group_arg::bias);
  const double eps = real_arg(call, e.batch ? batch_arg::eps : group_arg::eps);
  if (e.fit())
    return run_norm_rows(call, {e.x, &output(call), &mean, &rstd, weight, bias, e.n * e.groups,
                                e.width * e.s, eps, e.groups, e.width, e.s});
  if (e.batch && int_arg(call, batch_arg::training) == 0) {
    with_float(e.x->dtype, [&](auto tag) {
      using C = typename decltype(tag)::type;
      launch(call, grid_of(e.c), running_statistics<C>, e.c,
             in<C>(input(call, batch_arg::running_mean)),
             in<C>(input(call, batch_arg::running_var)), out<C>(mean), out<C>(rstd),
             static_cast<C>(eps));
    });
  } else {
    run_statistics(call, e.shared(), *e.x, {&mean}, {&rstd}, eps);
  }
  run_apply(call, {e.x, &mean, &rstd, weight, bias}, e.statistics_of(), e.parameters_of());
}

void run_backward(const tn_call& call, uint32_t op) {
  using arg = tenon::arg::batch_norm_backward;
  const Extent e(call, op);
  if (e.c == 0) return;
  const tn_view &g = input(call, arg::g), &mean = input(call, arg::mean),
                &rstd = input(call, arg::rstd);
  const tn_view* weight = input_or_null(call, arg::weight);
  const Slot gweight{&output(call, arg::result::gweight)}, gbias{&output(call, arg::result::gbias)};
  PairSums pairs{.g = &g, .x = e.x, .mean = &mean, .rstd = &rstd};
  pairs.share = e.width;
  pairs.dots = e.batch ? gweight : e.sums(0);
  pairs.sums = e.batch ? gbias : e.sums(1);
  run_pairs(call, e.channels(), pairs, e.fold_at());
  const int64_t shared = e.batch ? e.n * e.s : e.width * e.s;
  // In eval mode no gradient flows through the statistics.
  const bool fixed = (e.batch && int_arg(call, arg::training) == 0) || shared == 0;
  with_float(e.x->dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const C over = fixed ? C(0) : C(1) / static_cast<C>(shared);
    const auto dots = bind<const C>(call, pairs.dots), sums = bind<const C>(call, pairs.sums);
    if (!e.batch)
      launch(call, grid_of(e.c), sample_sums<C>, e.c, e.n, dots, sums, bind<C>(call, gweight),
             bind<C>(call, gbias));
    launch(call, grid_of(e.statistics()), group_means<C>, e.statistics(), e.width, e.c, over, dots,
           sums, in_or_null<C>(weight), bind<C>(call, e.means(0)), bind<C>(call, e.means(1)));
  });
  run_apply(call, {e.x, &mean, &rstd, weight, nullptr, &g, e.means(0), e.means(1)},
            e.statistics_of(), e.parameters_of());
}

uint64_t scratch_of(const tn_call& call, uint32_t op) {
  const Extent e(call, op);
  if (ChannelNorm::is_backward(op)) return e.fold_at() + fold_scratch(e.channels());
  return e.fit() ? 0 : fold_scratch(e.shared());
}

}  // namespace

void add_norm_channel_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, ChannelNorm::Op op) {
    list.add({.schema = schema,
              .dtypes = Floats::kMask,
              .run = ChannelNorm::is_backward(op) ? run_backward : run_forward,
              .code = op,
              .scratch = scratch_of});
  };
  add(TN_SCHEMA_BATCH_NORM, ChannelNorm::kBatch);
  add(TN_SCHEMA_GROUP_NORM, ChannelNorm::kGroup);
  add(TN_SCHEMA_BATCH_NORM_BACKWARD, ChannelNorm::kBatchBackward);
  add(TN_SCHEMA_GROUP_NORM_BACKWARD, ChannelNorm::kGroupBackward);
}

}  // namespace tenon::gpu
