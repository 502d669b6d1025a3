// What dispatch calls to put an op on the tape.
#pragma once

#include "dispatch/frame.hpp"

namespace tenon::core {

// Thread-local modes (TN_MODE_*); read on every call.
extern thread_local constinit uint32_t t_modes;

// True when the call must be recorded: recording is on and some tensor argument requires a gradient.
bool wants_record(const Frame& frame);
// Ties fresh results to the arguments of the frame through the op's formula. Results of integer dtype stay as they are.
void record(Frame& frame, tn_tensor* const* outs, uint32_t nouts);
// The same for a view op: `out` also remembers its base, so that in-place writes to either reach the other's history.
// Called for views of any tensor that joins a graph or may do so later (grad mode on); plain views need no history.
void record_view(Frame& frame, tn_tensor* out);
// Before an in-place op writes `target`: throws for leaves that require a gradient, inference tensors in a graph, read-only
// storage, overlapping elements.
void check_inplace(const Frame& frame, const tn_tensor& target);
// After it: bumps the version, and rebases the history of `target` (and of its base, when it is a view).
// `target_arg` is the argument that `target` is, or -1 when it is only an output.
void record_inplace(Frame& frame, tn_tensor* target, int target_arg);
// After an op wrote to a tensor outside the tape (optimizer steps, to-host reads into a tensor).
void bump_version(tn_tensor& tensor);

// Frees what autograd holds for a tensor: gradient, hooks, history. Iterative.
void release_autograd(tn_tensor* tensor) noexcept;

}  // namespace tenon::core
