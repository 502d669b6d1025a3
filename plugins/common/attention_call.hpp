// Reads a call of attention or its backward op.
#ifndef TENON_PLUGINS_COMMON_ATTENTION_CALL_HPP
#define TENON_PLUGINS_COMMON_ATTENTION_CALL_HPP

#include <algorithm>
#include <cmath>

#include "tenon/kernel_call.hpp"
#include "tenon/schemas.h"

namespace tenon {

// q (batch, heads, queries, width), k (batch, groups, keys, width), v (batch, groups, keys, value_width).
struct AttentionCall {
  const tn_view *q, *k, *v;
  const tn_view* mask = nullptr;  // bool or q's dtype
  // The mask's strides over (batch, heads, queries, keys); 0 where it repeats.
  int64_t mask_strides[4] = {0, 0, 0, 0};
  bool causal;
  double scale;

  int64_t batch() const { return q->shape[0]; }
  int64_t heads() const { return q->shape[1]; }
  int64_t groups() const { return k->shape[1]; }
  int64_t queries() const { return q->shape[2]; }
  int64_t keys() const { return k->shape[2]; }
  int64_t width() const { return q->shape[3]; }
  int64_t value_width() const { return v->shape[3]; }
  int64_t heads_of_group() const { return groups() == 0 ? 1 : heads() / groups(); }

  // `Names` is arg::attention or arg::attention_backward.
  template <class Names>
  static AttentionCall read(const tn_call& call) {
    AttentionCall a;
    a.q = call.args[Names::q].as.view;
    a.k = call.args[Names::k].as.view;
    a.v = call.args[Names::v].as.view;
    a.causal = call.args[Names::causal].as.i != 0;
    const double width = std::max<double>(1, static_cast<double>(a.width()));
    a.scale = call.args[Names::scale].tag == TN_VALUE_NONE ? 1 / std::sqrt(width)
                                                           : sdk::Call(call).real(Names::scale);
    if (call.args[Names::mask].tag != TN_VALUE_VIEW) return a;
    a.mask = call.args[Names::mask].as.view;
    for (uint32_t d = 0; d < a.mask->ndim; ++d)
      if (a.mask->shape[d] != 1) a.mask_strides[4 - a.mask->ndim + d] = a.mask->strides[d];
    return a;
  }
};

}  // namespace tenon
#endif
