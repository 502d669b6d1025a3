// hipBLASLt, opened when a product on a GPU that it is made for first asks for it: without it rocBLAS multiplies.
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

// NULL where the library is missing, which is logged once, or TENON_ROCM_HIPBLASLT=0 forbids it. [thread-safe]
const HipblasLt* hipblaslt();

// matmul and linear, before rocBLAS: ops/matmul_fused.cpp.
std::vector<tn_kernel> hipblaslt_kernels();

// Throws sdk::Error; TN_UNIMPLEMENTED where it cannot compute what is asked.
void check(hipblasStatus_t status, const char* what);

// The handle of the call's device and stream: kernels keep counters in memory of the handle's, which streams that run side by side
// must not share. Throws sdk::Error. [thread-safe]
hipblasLtHandle_t hipblaslt_handle(const tn_call& call);

}  // namespace tenon::gpu
