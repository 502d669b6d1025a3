// Numbers as operands: a view over one host value.
#pragma once

#include "tenon/value.h"

namespace tenon::core {

// The dtype of a number without a tensor beside it: i64, f32, bool, c64.
tn_dtype default_dtype(const tn_value& number);
// Fills a TN_VIEW_SCALAR view of `dtype` with a number, or with an element of another dtype. Out-of-range integers wrap.
void make_scalar_view(tn_view& view, tn_dtype dtype, const tn_value& number);
void make_scalar_view(tn_view& view, tn_dtype dtype, const void* element, tn_dtype from);

}  // namespace tenon::core
