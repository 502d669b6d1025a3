#include "reduce_plan.hpp"

#include <algorithm>
#include <cstdlib>

#include "dispatch.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

void swap_kept(ReducePlan& plan, uint32_t a, uint32_t b) {
  std::swap(plan.kept_shape[a], plan.kept_shape[b]);
  std::swap(plan.kept_step[a], plan.kept_step[b]);
  std::swap(plan.out_step[a], plan.out_step[b]);
}

// Kept dimensions with the largest step outermost, merged where x and the output allow it.
void order_kept(ReducePlan& plan) {
  for (uint32_t i = 1; i < plan.nkept; ++i) {
    for (uint32_t j = i; j > 0 && std::abs(plan.kept_step[j]) > std::abs(plan.kept_step[j - 1]);
         --j)
      swap_kept(plan, j, j - 1);
  }
  uint32_t n = 0;
  for (uint32_t d = 0; d < plan.nkept; ++d) {
    const int64_t size = plan.kept_shape[d];
    if (size == 1) continue;
    if (n > 0 && plan.kept_step[n - 1] == size * plan.kept_step[d] &&
        plan.out_step[n - 1] == size * plan.out_step[d]) {
      plan.kept_shape[n - 1] *= size;
      plan.kept_step[n - 1] = plan.kept_step[d];
      plan.out_step[n - 1] = plan.out_step[d];
    } else {
      plan.kept_shape[n] = size;
      plan.kept_step[n] = plan.kept_step[d];
      plan.out_step[n++] = plan.out_step[d];
    }
  }
  plan.nkept = n;
}

void order_reduced(ReducePlan& plan, bool ordered, int64_t size_of_x) {
  for (uint32_t i = 0; i < plan.nreduced && !ordered; ++i) {
    if (plan.step[i] < 0) {
      plan.x += (plan.shape[i] - 1) * plan.step[i] * size_of_x;
      plan.step[i] = -plan.step[i];
    }
    for (uint32_t j = i; j > 0 && plan.step[j] > plan.step[j - 1]; --j) {
      std::swap(plan.shape[j], plan.shape[j - 1]);
      std::swap(plan.step[j], plan.step[j - 1]);
    }
  }
  uint32_t n = 0;
  for (uint32_t d = 0; d < plan.nreduced; ++d) {
    if (plan.shape[d] == 1) continue;
    if (n > 0 && plan.step[n - 1] == plan.shape[d] * plan.step[d]) {
      plan.shape[n - 1] *= plan.shape[d];
      plan.step[n - 1] = plan.step[d];
    } else {
      plan.shape[n] = plan.shape[d];
      plan.step[n++] = plan.step[d];
    }
  }
  plan.nreduced = n;
}

void finish(ReducePlan& plan, bool ordered, int64_t size_of_x) {
  for (uint32_t d = 0; d < plan.nkept; ++d) plan.kept *= plan.kept_shape[d];
  for (uint32_t d = 0; d < plan.nreduced; ++d) plan.count *= plan.shape[d];
  if (plan.kept == 0 || plan.count == 0) return;
  order_kept(plan);
  order_reduced(plan, ordered, size_of_x);
}

}  // namespace

ReducePlan plan_reduction(const tn_call& call, bool ordered) {
  const tn_loop& loop = *call.loop;
  ReducePlan plan;
  plan.nkept = loop.ndim - loop.reduced;
  plan.nreduced = loop.reduced;
  for (uint32_t d = 0; d < loop.ndim; ++d) {
    if (d < plan.nkept) {
      plan.kept_shape[d] = loop.shape[d];
      plan.kept_step[d] = loop.strides[1][d];
      plan.out_step[d] = loop.strides[0][d];
    } else {
      plan.shape[d - plan.nkept] = loop.shape[d];
      plan.step[d - plan.nkept] = loop.strides[1][d];
    }
  }
  const tn_view& x = input(call, arg::sum::x);  // of every reduction
  plan.x = data_of<char>(x);
  plan.out = data_of<char>(output(call));
  finish(plan, ordered, size_of(x.dtype));
  return plan;
}

ReducePlan plan_rows(const tn_view& x, std::initializer_list<int64_t> kept,
                     std::initializer_list<int64_t> kept_step,
                     std::initializer_list<int64_t> reduced, std::initializer_list<int64_t> step) {
  ReducePlan plan;
  plan.nkept = static_cast<uint32_t>(kept.size());
  plan.nreduced = static_cast<uint32_t>(reduced.size());
  std::copy(kept.begin(), kept.end(), plan.kept_shape);
  std::copy(kept_step.begin(), kept_step.end(), plan.kept_step);
  int64_t size = 1;
  for (uint32_t d = plan.nkept; d-- > 0; size *= plan.kept_shape[d]) plan.out_step[d] = size;
  std::copy(reduced.begin(), reduced.end(), plan.shape);
  std::copy(step.begin(), step.end(), plan.step);
  plan.x = data_of<char>(x);
  plan.out = nullptr;
  finish(plan, false, size_of(x.dtype));
  return plan;
}

}  // namespace tenon::cpu
