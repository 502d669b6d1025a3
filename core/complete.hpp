// Completes the tables of plugins: a slot that a plugin leaves out becomes a thunk that returns TN_UNIMPLEMENTED.
#pragma once

#include "tenon/plugin.h"

namespace tenon::core {

// `from` may be NULL, or of any struct_size: older plugins know fewer slots, newer ones more.
tn_device_table complete(const tn_device_table* from);
tn_memory_table complete(const tn_memory_table* from);
tn_stream_table complete(const tn_stream_table* from);
tn_plugin complete(const tn_plugin* from);

// One kernel of an array whose elements are `stride` bytes apart. Optional steps stay NULL when
// absent: the dispatcher leaves them out.
tn_kernel complete(const tn_kernel* kernels, uint32_t index, uint32_t stride);
tn_device_type complete(const tn_device_type* from);
tn_op_def complete(const tn_op_def* from);

}  // namespace tenon::core
