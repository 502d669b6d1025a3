// What a call writes to besides new results: given outputs, and the arguments that its schema marks with '!'.
#pragma once

#include "dispatch/frame.hpp"

namespace tenon::core {

// Throws where the tensor is read-only or some of its elements share memory.
void check_writable(const Frame& frame, const tn_tensor& target);
// The same for every argument that the op writes; no two of them may share memory either.
void check_written(const Frame& frame);
// After the call: their versions.
void bump_written(const Frame& frame);

}  // namespace tenon::core
