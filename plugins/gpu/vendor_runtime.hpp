// What vendor_runtime.cpp and a vendor's own runtime.cpp share. "vendor_api.hpp" lies in the vendor's folder and says
//   VENDOR(name)        how the vendor spells a type or a constant
//   VENDOR_CALL(name)   and how a function is called
// and, in the namespace vendor, what the runtimes do not name alike.
#pragma once

#include "vendor_api.hpp"

namespace tenon::gpu {

// Throws sdk::Error with the vendor's message if a call failed.
void check(VENDOR(Error_t) error, const char* what);
// Clears the error of the last call, which the next one would report again.
inline void forget_error() { static_cast<void>(VENDOR_CALL(GetLastError)()); }

}  // namespace tenon::gpu
