// Reductions: sums, extrema, moments, norms.
#include <algorithm>
#include <cmath>

#include "fold.hpp"
#include "shaders/exps.hpp"
#include "shaders/moments.hpp"
#include "shaders/norm.hpp"
#include "shaders/reduce.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t {
  kTotal,
  kProd,
  kMin,
  kMax,
  kMean,
  kAny,
  kEvery,
  kArgmin,
  kArgmax
};  // as shaders/reduce.comp

// The first argument of all reductions is x.
void run_over_loop(const tn_call& call, const Shader& shader, Compute compute, uint32_t code,
                   const std::vector<uint32_t>& words = {}) {
  const tn_view &x = input(call, arg::sum::x), &y = output(call);
  run_fold(call, plan_loop(call),
           {.shader = shader,
            .compute = compute,
            .code = code,
            .constants = {y.dtype, x.dtype},
            .outs = {{&y}},
            .ins = {&x},
            .words = words,
            .heavy = &shader == &shaders::exps || (&shader == &shaders::norm && code == kPowers)});
}

// Integers are added in the result's width, which wraps around; the 64-bit module also reads narrower ones.
void run_reduce(const tn_call& call, uint32_t op) {
  const tn_dtype in = input(call, arg::sum::x).dtype, out = output(call).dtype;
  const bool wide = op == kTotal || op == kProd;
  run_over_loop(call, shaders::reduce,
                wide && compute_of(in) == Compute::kI32 ? compute_of(out) : compute_of(in), op);
}

void run_var(const tn_call& call, uint32_t) {
  const double count = static_cast<double>(plan_loop(call).count);
  run_over_loop(call, shaders::moments, compute_of(output(call).dtype), kVar,
                real_words(std::max(0.0, count - real_arg(call, arg::var::correction))));
}

void run_logsumexp(const tn_call& call, uint32_t) {
  run_over_loop(call, shaders::exps, compute_of(output(call).dtype), kLogSum);
}

void run_norm(const tn_call& call, uint32_t) {
  const double p = real_arg(call, arg::norm::p);
  uint32_t code = kPowers;
  if (std::isinf(p)) code = p > 0 ? kGreatest : kSmallest;
  if (p == 0) code = kCounted;
  if (p == 1) code = kSum;
  if (p == 2) code = kRoot;
  run_over_loop(call, shaders::norm, compute_of(output(call).dtype), code, real_words(p));
}

uint64_t scratch(const tn_call& call, uint32_t) { return fold_scratch(plan_loop(call)); }

}  // namespace

void add_reduce_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, uint64_t dtypes,
                       void (*run)(const tn_call&, uint32_t), uint32_t op = 0) {
    list.add({.schema = schema,
              .dtypes = dtypes,
              .run = run,
              .code = op,
              .flags = TN_KERNEL_STRIDED,
              .scratch = scratch});
  };
  add(TN_SCHEMA_SUM, kSummed, run_reduce, kTotal);
  add(TN_SCHEMA_PROD, kSummed, run_reduce, kProd);
  add(TN_SCHEMA_MIN, kAll, run_reduce, kMin);
  add(TN_SCHEMA_MAX, kAll, run_reduce, kMax);
  add(TN_SCHEMA_MEAN, kFloats | kDouble, run_reduce, kMean);
  add(TN_SCHEMA_ANY, kAll, run_reduce, kAny);
  add(TN_SCHEMA_ALL, kAll, run_reduce, kEvery);
  add(TN_SCHEMA_ARGMIN, kAll, run_reduce, kArgmin);
  add(TN_SCHEMA_ARGMAX, kAll, run_reduce, kArgmax);
  add(TN_SCHEMA_VAR, kFloats | kDouble, run_var);
  add(TN_SCHEMA_LOGSUMEXP, kFloats | kDouble, run_logsumexp);
  add(TN_SCHEMA_NORM, kFloats | kDouble, run_norm);
}

}  // namespace tenon::vulkan
