// The loop of a reduction put in the order in which memory lies.
#pragma once

#include "kernels.hpp"

namespace tenon::cpu {

struct ReducePlan {
  uint32_t nkept = 0, nreduced = 0;
  int64_t kept = 1, count = 1;  // results; elements of each
  // Outermost first; steps in elements of x (and of the output).
  int64_t kept_shape[TN_MAX_DIMS], kept_step[TN_MAX_DIMS], out_step[TN_MAX_DIMS];
  int64_t shape[TN_MAX_DIMS], step[TN_MAX_DIMS];
  const char* x;  // first element in this order
  char* out;

  // Offsets of result i.
  void locate(int64_t i, int64_t& from, int64_t& to) const {
    from = to = 0;
    if (nkept == 0) return;
    for (uint32_t d = nkept - 1; d > 0; --d, i /= kept_shape[d + 1]) {
      from += i % kept_shape[d] * kept_step[d];
      to += i % kept_shape[d] * out_step[d];
    }
    from += i * kept_step[0];
    to += i * out_step[0];
  }
  // Offset of the reduced element i.
  int64_t reduced_offset(int64_t i) const {
    if (nreduced <= 1) return nreduced == 0 ? 0 : i * step[0];
    int64_t from = 0;
    for (uint32_t d = nreduced; d-- > 0; i /= shape[d]) from += i % shape[d] * step[d];
    return from;
  }
  // Results that lie side by side while what they are made of does not: a row at a time is added to
  // all of them.
  bool by_columns() const {
    return nkept > 0 && kept_step[nkept - 1] == 1 && kept_shape[nkept - 1] >= 4 &&
           (nreduced == 0 || step[nreduced - 1] != 1);
  }
};

// `ordered` keeps the order of the reduced elements, for ops that report positions.
ReducePlan plan_reduction(const tn_call& call, bool ordered);

// A plan made by hand for a kernel whose call has no loop.
ReducePlan plan_rows(const tn_view& x, std::initializer_list<int64_t> kept,
                     std::initializer_list<int64_t> kept_step,
                     std::initializer_list<int64_t> reduced, std::initializer_list<int64_t> step);

}  // namespace tenon::cpu
