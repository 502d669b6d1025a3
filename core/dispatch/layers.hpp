// Layers over the calls of a thread (tn_call_layer): the newest sees a call first and may compute it in the core's place.
#pragma once

#include "dispatch/frame.hpp"

namespace tenon::core {

// True when a layer has computed the call: `outs` hold new references. Throws Error.
bool layers_call(const Frame& frame, tn_tensor** outs);
// The same for a call into given tensors.
bool layers_call_into(const Frame& frame, tn_tensor* const* outs, uint32_t nouts);

}  // namespace tenon::core
