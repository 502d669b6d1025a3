// cuBLASLt, opened when a product first needs it. Without it, the plugin's own tiles multiply.
#pragma once

#include <cublasLt.h>

#include <vector>

#include "tenon/plugin.hpp"

namespace tenon::gpu {

// Functions of the library.
struct CublasLt {
#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "cublaslt_functions.def"
#undef FUNCTION
};

// NULL if the library is missing, which is logged once, or if TENON_CUDA_CUBLASLT=0 forbids it. [thread-safe]
const CublasLt* cublaslt();

// The device's handle. Throws sdk::Error. [thread-safe]
cublasLtHandle_t cublaslt_handle(uint32_t device);

// matmul and linear: ops/matmul.cpp.
std::vector<tn_kernel> cublaslt_kernels();
// Products of 8-bit floats: ops/matmul_scaled.cpp.
tn_kernel cublaslt_scaled_matmul();

// Throws sdk::Error with the library's message; TN_UNIMPLEMENTED if it cannot compute this.
void check(cublasStatus_t status, const char* what);

}  // namespace tenon::gpu
