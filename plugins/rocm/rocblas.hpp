// rocBLAS, opened when a product first needs it. Without it, the plugin's own tiles multiply.
#pragma once

#include <mutex>
#include <vector>

#include "rocblas_abi.hpp"
#include "tenon/plugin.hpp"

namespace tenon::gpu {

// Functions of the library.
struct Rocblas {
#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "rocblas_functions.def"
#undef FUNCTION
};

// NULL if the library is missing, which is logged once, or if TENON_ROCM_ROCBLAS=0 forbids it. [thread-safe]
const Rocblas* rocblas();

// matmul and linear: ops/matmul.cpp.
std::vector<tn_kernel> rocblas_kernels();

// Throws sdk::Error with the library's message.
void check(rocblas_status status, const char* what);

// The device's handle, for one thread at a time. Its kernels run on the call's stream and use the call's scratch memory, because concurrent
// streams would share memory of the handle. Throws sdk::Error. [thread-safe]
class RocblasHandle {
 public:
  RocblasHandle(const tn_call& call, uint64_t workspace);
  operator rocblas_handle() const { return handle_; }

 private:
  std::unique_lock<std::mutex> lock_;
  rocblas_handle handle_;
};

}  // namespace tenon::gpu
