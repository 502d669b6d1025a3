// Running ops from inside the core.
#pragma once

#include "dispatch/frame.hpp"

namespace tenon::core {

// Internal bits of t_modes, beside TN_MODE_*.
constexpr uint32_t kModeHooks = 1u << 16;   // this thread has call hooks
constexpr uint32_t kModeLayers = 1u << 17;  // a layer sees its calls
constexpr uint32_t kModeWatched = kModeHooks | kModeLayers;

// What tn_op_call does, with exceptions. `outs` get new references.
void call(const tn_op& op, const tn_value* args, uint32_t nargs, tn_tensor** outs, uint32_t nouts);
// What tn_op_call_into does.
void call_into(const tn_op& op, const tn_value* args, uint32_t nargs, tn_tensor* const* outs,
               uint32_t nouts);
// The only result of an op.
Ref call_one(const tn_op& op, const tn_value* args, uint32_t nargs);
// The short path; false when the call does not qualify and nothing was done.
bool fast_call(const tn_op& op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
               uint32_t nouts);
// Computes results of a frame whose rule has not run yet: kernel, decomposition or host fallback. Nothing is recorded.
// `into` holds the destinations of an in-place call, or is NULL. Returns who computed it.
std::string_view compute(Frame& frame, tn_tensor* const* into, tn_tensor** outs);

// Copies `source` into the elements of `target`: any strides, one dtype and shape. Not recorded.
void copy_into(tn_tensor* target, const tn_tensor& source);
// A row-major copy of the tensor, recorded like any call.
Ref copy_rows(const tn_tensor& tensor);
// A row-major version of the tensor, itself when it is one. Not recorded.
Ref make_contiguous(const tn_tensor& tensor);
// A converted copy. Not recorded.
Ref cast_tensor(const tn_tensor& tensor, tn_dtype dtype);

}  // namespace tenon::core
