// Whole rows, selected by one list of indices.
#pragma once

#include "kernels.hpp"

namespace tenon::gpu {

// Fills the output of a call with those slices of its first argument along `dim` that an i64 tensor lists. `wrap`: negative indices count
// from the end. All are contiguous.
void select(const tn_call& call, const char* op, const tn_view& index, int64_t dim, bool wrap);

}  // namespace tenon::gpu
