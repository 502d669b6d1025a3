// Tests what other libraries are told about a device's memory and streams, for plugins that offer tn.dlpack; part of the group of streams.
#pragma once

#include "groups/raw_device.hpp"

namespace tenon::conformance {

void check_dlpack(const Stage& stage, const RawDevice& device, uint64_t seed, Sink& sink);

}  // namespace tenon::conformance
