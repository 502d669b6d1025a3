// What this thread does: recording, inference, watched calls.
#pragma once

#include "tenon/autograd.h"

namespace tenon::core {

// Thread-local modes (TN_MODE_*, and internal bits above them); read on every call.
extern thread_local constinit uint32_t t_modes __attribute__((tls_model("initial-exec")));

// Switches modes of this thread off while the core computes on behalf of an op.
class Without {
 public:
  explicit Without(uint32_t modes) : before_(t_modes) { t_modes = before_ & ~modes; }
  ~Without() { t_modes = before_; }
  Without(const Without&) = delete;

 private:
  uint32_t before_;
};

inline bool recording() { return (t_modes & (TN_MODE_GRAD | TN_MODE_INFERENCE)) == TN_MODE_GRAD; }

}  // namespace tenon::core
