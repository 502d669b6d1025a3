// Reads a call of a normalisation or its backward op.
#ifndef TENON_PLUGINS_COMMON_NORM_CALL_HPP
#define TENON_PLUGINS_COMMON_NORM_CALL_HPP

#include "call.hpp"
#include "tenon/schemas.h"

namespace tenon {

// layer_norm, rms_norm, add_layer_norm and their backward ops: rows of n elements, each with statistics of its own.
struct RowNorm {
  enum Op : uint32_t {
    kLayer,
    kRootMean,
    kLayerBackward,
    kRootMeanBackward,
    kAddLayer,
    kAddLayerBackward
  };
  static bool is_centred(uint32_t op) { return op != kRootMean && op != kRootMeanBackward; }
  static bool is_backward(uint32_t op) {
    return op == kLayerBackward || op == kRootMeanBackward || op == kAddLayerBackward;
  }

  const tn_view *x, *g = nullptr, *mean = nullptr, *rstd, *weight, *bias = nullptr;
  // For add_layer_norm: what is added to x, and where the sum goes. For its backward op, where x is the sum: the sum's gradient, or NULL.
  const tn_view *residual = nullptr, *sum = nullptr, *gsum = nullptr;
  int64_t rows, n = 1;
  double eps = 0;

  RowNorm(const tn_call& call, uint32_t op) {
    const auto input = [&](uint32_t i) { return input_or_null(call, i); };
    const bool both = is_centred(op);
    if (op == kAddLayer) {
      using names = arg::add_layer_norm;
      x = input(names::x);
      residual = input(names::residual);
      sum = call.outs[names::result::sum];
      mean = call.outs[names::result::mean];
      rstd = call.outs[names::result::rstd];
      weight = input(names::weight);
      bias = input(names::bias);
      n = product(call.args[names::shape]);
      eps = real_arg(call, names::eps);
    } else if (op == kAddLayerBackward) {
      using names = arg::add_layer_norm_backward;
      g = input(names::g);
      gsum = input(names::gsum);
      x = input(names::sum);
      mean = input(names::mean);
      rstd = input(names::rstd);
      weight = input(names::weight);
      n = numel(*call.outs[names::result::gweight]);
    } else if (is_backward(op)) {
      using layer = arg::layer_norm_backward;
      using root_mean = arg::rms_norm_backward;
      g = input(layer::g);
      x = input(layer::x);
      if (both) mean = input(layer::mean);
      rstd = input(both ? layer::rstd : root_mean::rstd);
      weight = input(both ? layer::weight : root_mean::weight);
      n = numel(*call.outs[layer::result::gweight]);
    } else {
      using layer = arg::layer_norm;
      using root_mean = arg::rms_norm;
      x = input(layer::x);
      if (both) mean = call.outs[layer::result::mean];
      rstd = call.outs[both ? layer::result::rstd : root_mean::result::rstd];
      weight = input(layer::weight);
      if (both) bias = input(layer::bias);
      n = product(call.args[layer::shape]);
      eps = real_arg(call, both ? layer::eps : root_mean::eps);
    }
    rows = numel(*rstd);
  }

 private:
  static int64_t product(const tn_value& sizes) {
    int64_t all = 1;
    for (uint32_t i = 0; i < sizes.count; ++i) all *= sizes.as.ints[i];
    return all;
  }
};

// batch_norm, group_norm and their backward ops: x as (n, c, s).
struct ChannelNorm {
  enum Op : uint32_t { kBatch, kGroup, kBatchBackward, kGroupBackward };
  static bool is_backward(uint32_t op) { return op >= kBatchBackward; }

  const tn_view* x;
  int64_t n, c, s = 1;
  int64_t groups = 1, width = 1;  // groups in a sample; channels in a group
  bool batch;

  // batch_norm has its operands and results where group_norm has them; its backward op has `training` in place of `groups`.
  static_assert(arg::batch_norm::x == arg::group_norm::x &&
                arg::batch_norm::result::mean == arg::group_norm::result::mean &&
                arg::batch_norm::result::rstd == arg::group_norm::result::rstd);
  static_assert(arg::batch_norm_backward::g == arg::group_norm_backward::g &&
                arg::batch_norm_backward::x == arg::group_norm_backward::x &&
                arg::batch_norm_backward::mean == arg::group_norm_backward::mean &&
                arg::batch_norm_backward::rstd == arg::group_norm_backward::rstd &&
                arg::batch_norm_backward::weight == arg::group_norm_backward::weight);

  ChannelNorm(const tn_call& call, uint32_t op)
      : x(&input(call, is_backward(op) ? arg::group_norm_backward::x : arg::group_norm::x)),
        batch(op == kBatch || op == kBatchBackward) {
    n = x->shape[0];
    c = x->shape[1];
    for (uint32_t d = 2; d < x->ndim; ++d) s *= x->shape[d];
    if (batch) return;
    groups =
        int_arg(call, is_backward(op) ? arg::group_norm_backward::groups : arg::group_norm::groups);
    width = c / groups;
  }
  int64_t statistics() const { return batch ? c : n * groups; }
};

}  // namespace tenon
#endif
