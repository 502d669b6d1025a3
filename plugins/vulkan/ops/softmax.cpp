// softmax, log_softmax and their backwards, along the last dimension.
#include "shaders/softmax.hpp"
#include "rows.hpp"
#include "shaders/exps.hpp"
#include "shaders/pairs.hpp"
#include "shaders/reduce.hpp"
#include "shaders/softmax_subgroup.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t {
  kSoftmax,
  kLogSoftmax,
  kSoftmaxBackward,
  kLogSoftmaxBackward
};  // as shaders/softmax.comp

struct Rows {
  int64_t count, n;
  FoldPlan fold;         // along the rows, if they are cut
  uint64_t results = 0;  // bytes of one result for each row
  bool cut;
  explicit Rows(const tn_call& call) {
    const tn_view& x = input(call, arg::softmax::x);  // in a backward: g
    n = x.ndim == 0 ? 1 : x.shape[x.ndim - 1];
    count = n == 0 ? 0 : numel(x) / n;
    cut = few_long_rows(count, n);
    if (!cut) return;
    fold = plan_fold({{count, n}}, {{n, 1}}, device_of(call));
    results = static_cast<uint64_t>(count) * 8;
  }
};

// Reduces along the rows into the beginning of scratch memory.
void fold_rows(const tn_call& call, uint32_t op, const Rows& rows, Compute compute) {
  const tn_view& x = input(call, arg::softmax::x);
  const uint32_t whole = compute == Compute::kF64 ? TN_DTYPE_F64 : TN_DTYPE_F32;
  const Place first{nullptr, 0, rows.results}, second{nullptr, rows.results, rows.results};
  const std::vector<uint32_t> dtypes = {whole, x.dtype};
  const uint64_t states = 2 * rows.results;
  if (op == kSoftmax || op == kLogSoftmax)
    return run_fold(call, rows.fold,
                    {shaders::exps, compute, kExpParts, dtypes, {first, second}, {&x}}, states);
  if (op == kLogSoftmaxBackward)
    return run_fold(call, rows.fold, {shaders::reduce, compute, 0, dtypes, {first}, {&x}}, states);
  run_fold(call, rows.fold,
           {shaders::pairs,
            compute,
            kDot,
            dtypes,
            {first},
            {&x, &input(call, arg::softmax_backward::y)},
            {},
            2},
           states);
}

void run_softmax(const tn_call& call, uint32_t op) {
  const Rows rows(call);
  if (rows.count == 0) return;
  const tn_view& x = input(call, arg::softmax::x);
  const Compute compute = compute_of(x.dtype);
  const bool backward = op >= kSoftmaxBackward;
  if (rows.cut) fold_rows(call, op, rows, compute);
  Launch launch(call, row_shader(call, shaders::softmax, shaders::softmax_subgroup), compute);
  const RowPlan plan = plan_rows(
      rows.count, rows.n, device_of(call),
      {&output(call), &x, &input(call, backward ? arg::softmax_backward::y : arg::softmax::x)},
      backward ? 2 : 1);
  row_constants(launch, op, x.dtype, plan).constant(rows.cut);
  launch.out(output(call)).in(x);
  backward ? launch.in(input(call, arg::softmax_backward::y)) : launch.none();
  if (rows.cut) launch.scratch(0, rows.results).scratch(rows.results, rows.results);
  row_words(launch, plan);
  if (rows.cut) return launch.elements(rows.count * rows.n);
  row_groups(launch, plan);
}

uint64_t scratch(const tn_call& call, uint32_t) {
  const Rows rows(call);
  return rows.cut ? 2 * rows.results + fold_scratch(rows.fold) : 0;
}

}  // namespace

void add_softmax_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Op op) {
    list.add({.schema = schema,
              .dtypes = kFloats | kDouble,
              .run = run_softmax,
              .code = op,
              .scratch = scratch});
  };
  add(TN_SCHEMA_SOFTMAX, kSoftmax);
  add(TN_SCHEMA_LOG_SOFTMAX, kLogSoftmax);
  add(TN_SCHEMA_SOFTMAX_BACKWARD, kSoftmaxBackward);
  add(TN_SCHEMA_LOG_SOFTMAX_BACKWARD, kLogSoftmaxBackward);
}

}  // namespace tenon::vulkan
