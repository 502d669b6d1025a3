// View ops: new headers over the elements of a tensor, made without a kernel.
#pragma once

#include "dispatch/frame.hpp"

namespace tenon::core {

// Runs an op of OpKind::View and returns a new reference. The result shares storage with argument
// 0, except that `reshape`, `flatten` and `as_strided` copy where no strides can express it.
// Records nothing on the tape.
tn_tensor* run_view(Frame& frame);

}  // namespace tenon::core
