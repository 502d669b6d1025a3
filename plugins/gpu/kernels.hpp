// How families of kernels register. To add a family, write a file in ops/ that defines
// `void add_NAME_kernels(KernelList& list)`, and put its name into families.def.
#pragma once

#include "../common/call.hpp"
#include "../common/device_kernels.hpp"
#include "../common/dtype.hpp"
#include "backend.hpp"
#include "tenon/schemas.h"

namespace tenon::gpu {

// Every kernel of plugins/gpu in the core's form, and those of a vendor's libraries with a higher priority. Static.
const std::vector<tn_kernel>& all_kernels();
const std::vector<tn_kernel>& vendor_kernels();

// The dtype by which the kernel was chosen: that of the first operand.
inline tn_dtype dtype_of(const tn_call& call) { return call.args->as.view->dtype; }
tn_dtype bits_of(tn_dtype dtype);  // the dtype of Sizes (types.hpp) with the same width

}  // namespace tenon::gpu
