// Reads a call of attention or its backward op.
#ifndef TENON_PLUGINS_COMMON_ATTENTION_CALL_HPP
#define TENON_PLUGINS_COMMON_ATTENTION_CALL_HPP

#include <algorithm>
#include <cmath>

#include "call.hpp"
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
    a.q = &input(call, Names::q);
    a.k = &input(call, Names::k);
    a.v = &input(call, Names::v);
    a.causal = int_arg(call, Names::causal) != 0;
    const double width = std::max<double>(1, static_cast<double>(a.width()));
    a.scale = call.args[Names::scale].tag == TN_VALUE_NONE ? 1 / std::sqrt(width)
                                                           : real_arg(call, Names::scale);
    a.mask = input_or_null(call, Names::mask);
    if (a.mask == nullptr) return a;
    for (uint32_t d = 0; d < a.mask->ndim; ++d)
      if (a.mask->shape[d] != 1) a.mask_strides[4 - a.mask->ndim + d] = a.mask->strides[d];
    return a;
  }
};

}  // namespace tenon
#endif
