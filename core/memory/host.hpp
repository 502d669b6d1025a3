// The host's memory as a device type, the core's own.
#pragma once

#include "tenon/plugin.h"

namespace tenon::core {

const tn_device_type& host_device_type();

}  // namespace tenon::core
