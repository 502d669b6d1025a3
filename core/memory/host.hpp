// The host's memory as a device type, the core's own.
#pragma once

#include "tenon/plugin.h"

namespace tenon::core {

const tn_device_type& host_device_type();
// That this process may run on.
uint32_t usable_cores();

}  // namespace tenon::core
