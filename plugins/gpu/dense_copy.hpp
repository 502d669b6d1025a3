// For libraries that want memory in order.
#pragma once

#include "tenon/plugin.h"

namespace tenon::gpu {

// Copies the elements of a view, whatever its strides, to `to` in row-major order, for a caller that has begun a call: ops/copy.cpp.
// [stream-ordered]
void copy_dense(const tn_call& call, const tn_view& from, void* to);

}  // namespace tenon::gpu
