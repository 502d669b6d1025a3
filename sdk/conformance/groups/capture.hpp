// Tests graphs of a stream's work, for plugins that offer tn.capture; part of the group of streams.
#pragma once

#include "groups/raw_device.hpp"

namespace tenon::conformance {

void check_capture(const Stage& stage, const RawDevice& device, uint64_t seed, Sink& sink);

}  // namespace tenon::conformance
