// What dispatch calls to put an op on the tape: declared here, defined in autograd/, a room above.
#pragma once

#include "dispatch/frame.hpp"
#include "modes.hpp"

namespace tenon::core {

// A view's history follows its base: brings it up to date, then returns whether
// it requires a gradient.
bool view_requires_grad(tn_tensor& view);
inline bool requires_grad(tn_tensor& tensor) {
  return (tensor.flags & kIsView) ? view_requires_grad(tensor) : tensor.requires_grad();
}
// Whether one of its tensors does.
bool requires_grad(const tn_value& value);

// True when the call must be recorded: recording is on and some tensor argument
// requires a gradient.
inline bool wants_record(const tn_value* args, uint32_t nargs) {
  if (!recording()) return false;
  for (uint32_t i = 0; i < nargs; ++i) {
    if (args[i].tag == TN_VALUE_TENSOR) {
      tn_tensor& tensor = *args[i].as.tensor;
      if ((tensor.flags & (kRequiresGrad | kIsView)) != 0 && requires_grad(tensor)) return true;
    } else if (args[i].tag == TN_VALUE_TENSORS && requires_grad(args[i])) {
      return true;
    }
  }
  return false;
}
inline bool wants_record(const Frame& frame) { return wants_record(frame.args(), frame.nargs()); }

// Ties results to the arguments, which are complete (defaults filled in), through the op's formula. Results of integer dtype stay as
// they are, and so do all of them when the op has no gradient; false then. `originals`: of a call in place, by output, what it
// overwrote, NULL entries where nobody needs that; else NULL.
bool record(const tn_op& op, const tn_value* args, tn_tensor* const* outs, uint32_t nouts,
            const Ref* originals = nullptr);
inline void record(const Frame& frame, tn_tensor* const* outs, uint32_t nouts) {
  record(frame.op(), frame.args(), outs, nouts);
}
// The same for a view op: `out` also remembers its base, so that in-place writes to either reach
// the other's history. To be called for every view made while recording() holds, whether the
// argument requires a gradient or not: it may later.
void record_view(const Frame& frame, tn_tensor* out);
// A call in place, from before it writes to `outs` until it has. Throws for leaves that require a
// gradient and their views, views made with recording off, inference tensors in a graph, read-only
// storage, overlapping elements. What the op overwrites and its gradient reads is copied before.
class InPlace {
 public:
  InPlace(const Frame& frame, tn_tensor* const* outs, uint32_t nouts);
  // When all is written: bumps versions, and rebases the history of each output (and of its base,
  // when it is a view).
  void record();

 private:
  void keep_originals();

  const Frame& frame_;
  tn_tensor* const* outs_;
  uint32_t nouts_;
  bool recorded_ = false;
  Few<Ref, kFewResults> originals_;  // of what it overwrites, where that is needed
};
// After an op wrote to a tensor outside the tape (optimizer steps, to-host reads into a tensor).
inline void bump_version(tn_tensor& tensor) {
  std::atomic<uint32_t>& version = tensor.storage->version;  // writers are ordered by the caller
  version.store(version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// `alias`, without history, becomes a leaf that collects its gradient where `leaf` does. Throws Error.
void share_gradient(tn_tensor& alias, tn_tensor& leaf);

}  // namespace tenon::core
