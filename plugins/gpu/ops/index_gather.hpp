// Whole rows by one list of indices.
#pragma once

#include "kernels.hpp"

namespace tenon::gpu {

// The output of a call becomes its first argument's slices along `dim` that an i64 tensor lists; `wrap`: negative ones count from
// the end. All are contiguous.
void select(const tn_call& call, const char* op, const tn_view& index, int64_t dim, bool wrap);

}  // namespace tenon::gpu
