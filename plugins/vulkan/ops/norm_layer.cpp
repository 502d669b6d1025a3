// layer_norm, rms_norm and their backwards: part of a workgroup handles a row; few long rows are cut.
#include "../../common/norm_call.hpp"
#include "norms.hpp"
#include "rows.hpp"
#include "shaders/moments.hpp"
#include "shaders/norm.hpp"
#include "shaders/norm_rows.hpp"
#include "shaders/norm_rows_subgroup.hpp"
#include "shaders/pairs.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

// RowNorm::Op as shaders/norm_rows.comp has it.
struct Call : RowNorm {
  using RowNorm::RowNorm;
  bool cut(uint32_t op) const { return !is_backward(op) && few_long_rows(rows, n); }
  FoldPlan along_rows(const tn_call& call) const {
    return plan_fold({{rows, n}}, {{n, 1}}, device_of(call));
  }
  FoldPlan along_columns(const tn_call& call) const {
    return plan_fold({{n, 1}}, {{rows, n}}, device_of(call));
  }
};

void run_cut(const tn_call& call, uint32_t op, const Call& c) {
  const uint32_t own = statistic_of(*c.x);
  Fold fold{RowNorm::is_centred(op) ? shaders::moments : shaders::norm,
            compute_of(c.x->dtype),
            RowNorm::is_centred(op) ? uint32_t{kMoments} : kRms,
            {own, c.x->dtype},
            {{c.mean}, {c.rstd}},
            {c.x},
            real_words(c.eps)};
  if (!RowNorm::is_centred(op)) fold.outs[0] = {c.rstd}, fold.outs[1] = {};
  run_fold(call, c.along_rows(call), fold);
  run_apply(call, kForward, {c.x, c.mean, c.rstd, c.weight, c.bias, {}}, {c.n, c.rows, 1, c.n});
}

void run_norm(const tn_call& call, uint32_t op) {
  const Call c(call, op);
  const Compute compute = compute_of(c.x->dtype);
  if (RowNorm::is_backward(op)) {
    using result = arg::layer_norm_backward::result;
    run_fold(call, c.along_columns(call),
             {shaders::pairs,
              compute,
              RowNorm::is_centred(op) ? uint32_t{kCentred} : kScaled,
              {output(call, result::gweight).dtype, c.x->dtype},
              {{&output(call, result::gweight)},
               RowNorm::is_centred(op) ? Place{&output(call, result::gbias)} : Place{}},
              {c.g, c.x, c.mean, c.rstd},
              {1, 1},
              2});
  }
  if (c.rows == 0) return;
  if (c.cut(op)) return run_cut(call, op, c);
  Launch launch(call, row_shader(call, shaders::norm_rows, shaders::norm_rows_subgroup), compute);
  const RowPlan plan = plan_rows(c.rows, c.n, device_of(call),
                                 {&output(call), c.x, RowNorm::is_backward(op) ? c.g : c.x},
                                 RowNorm::is_backward(op) ? 2 : 1);
  row_constants(launch, op, c.x->dtype, plan)
      .constant(parameter_constant(c.weight))
      .constant(parameter_constant(c.bias));
  if (c.n == 0) {  // no elements, but there are statistics
    launch.out(*c.rstd).none();
  } else {
    launch.out(output(call)).in(*c.x);
  }
  const auto statistic = [&](const tn_view* view) {
    if (view == nullptr) return launch.none();
    return RowNorm::is_backward(op) ? launch.in(*view) : launch.out(*view);
  };
  statistic(c.mean);
  statistic(c.rstd);
  const tn_view* last = RowNorm::is_backward(op) ? c.g : c.bias;
  for (const tn_view* view : {c.weight, last})
    view != nullptr&& c.n != 0 ? launch.in(*view) : launch.none();
  row_words(launch, plan);
  for (const uint32_t word : real_words(c.eps)) launch.word(word);
  row_groups(launch, plan,
             device_of(call).invocations() / 128);  // few, so that they keep parameters
}

uint64_t scratch(const tn_call& call, uint32_t op) {
  const Call c(call, op);
  if (RowNorm::is_backward(op)) return fold_scratch(c.along_columns(call));
  return c.cut(op) ? fold_scratch(c.along_rows(call)) : 0;
}

}  // namespace

void add_norm_layer_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, RowNorm::Op op) {
    list.add({.schema = schema,
              .dtypes = kFloats | kDouble,
              .run = run_norm,
              .code = op,
              .scratch = scratch});
  };
  add(TN_SCHEMA_LAYER_NORM, RowNorm::kLayer);
  add(TN_SCHEMA_RMS_NORM, RowNorm::kRootMean);
  add(TN_SCHEMA_LAYER_NORM_BACKWARD, RowNorm::kLayerBackward);
  add(TN_SCHEMA_RMS_NORM_BACKWARD, RowNorm::kRootMeanBackward);
}

}  // namespace tenon::vulkan
