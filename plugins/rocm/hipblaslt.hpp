// hipBLASLt, opened when a product first needs it on a GPU that it is made for. Without it, rocBLAS multiplies.
#pragma once

#include <vector>

#include "hipblaslt_abi.hpp"
#include "tenon/plugin.hpp"

namespace tenon::gpu {

// Functions of the library.
struct HipblasLt {
#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "hipblaslt_functions.def"
#undef FUNCTION
};

// NULL if the library is missing, which is logged once, or if TENON_ROCM_HIPBLASLT=0 forbids it. [thread-safe]
const HipblasLt* hipblaslt();

// matmul and linear, before rocBLAS: ops/matmul_fused.cpp.
std::vector<tn_kernel> hipblaslt_kernels();

// Throws sdk::Error; TN_UNIMPLEMENTED if it cannot compute this.
void check(hipblasStatus_t status, const char* what);

// The handle for the call's device and stream: kernels keep counters in the handle's memory, which concurrent streams must not share.
// Throws sdk::Error. [thread-safe]
hipblasLtHandle_t hipblaslt_handle(const tn_call& call);

}  // namespace tenon::gpu
