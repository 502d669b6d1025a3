// The host's memory as a device type, the core's own.
#pragma once

#include <cstdint>

#include "tenon/plugin.h"

namespace tenon::core {

const tn_device_type& host_device_type();
// Gives the whole pages in between back to the system; their contents are lost.
void drop_pages(void* data, uint64_t bytes);
// That this process may run on.
uint32_t usable_cores();

}  // namespace tenon::core
