// What a device stands for while calls are recorded.
#ifndef TENON_RECORDED_DEVICE_HPP
#define TENON_RECORDED_DEVICE_HPP

#include "tenon/error.hpp"
#include "tenon/ext/draft/call_layers.h"
#include "tenon/plugins.h"

namespace tenon::detail {

// The device itself; for that of a trace, the one that this thread's trace is of.
inline const tn_device* recorded_device(const tn_device* device) {
  if (to_view(tn_device_id(device)) != "trace:0") return device;
  const void* found = nullptr;
  tn_status_release(
      tn_plugin_interface(to_str("trace"), to_str(TN_STAND_IN_NAME), TN_STAND_IN_REVISION, &found));
  const tn_device* recorded =
      found == nullptr ? nullptr : static_cast<const tn_stand_in*>(found)->device();
  return recorded == nullptr ? device : recorded;
}

}  // namespace tenon::detail
#endif
