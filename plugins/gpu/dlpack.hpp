// tn.dlpack: memory that other libraries share with ours, and the order of their queues and our streams.
#pragma once

#include "runtime.hpp"
#include "tenon/value.h"

namespace tenon::gpu {
namespace rt {

// DLPack's DLDeviceType of the devices.
extern const int32_t kDlpackKind;
// Throws unless there is memory of the device at the address.
void check_address(uint32_t index, const void* address);
// The stream that DLPack means by a number, or by NULL.
Stream queue_of(const int64_t* number);

}  // namespace rt

// The table, if a plugin is asked for this interface; NULL for any other.
const void* dlpack_interface(tn_str name, uint32_t revision);

}  // namespace tenon::gpu
