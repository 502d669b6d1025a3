// MIOpen, opened when a convolution first needs it. Without it, the plugin's own kernels run.
#pragma once

#include <mutex>
#include <vector>

#include "miopen_abi.hpp"
#include "runtime.hpp"
#include "tenon/plugin.hpp"

namespace tenon::gpu {

// Functions of the library.
struct Miopen {
#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "miopen_functions.def"
#undef FUNCTION
};

// NULL if the library is missing, which is logged once, or if TENON_ROCM_MIOPEN=0 forbids it. [thread-safe]
const Miopen* miopen();

// conv and its gradients: ops/conv.cpp.
std::vector<tn_kernel> miopen_kernels();

// Throws sdk::Error with the library's message; TN_UNIMPLEMENTED if it cannot compute this.
void check(miopenStatus_t status, const char* what);

// The device's handle, for one thread at a time. The handle has memory of its own, so a stream waits for work that another stream enqueued
// with it. Throws sdk::Error. [thread-safe]
class MiopenHandle {
 public:
  explicit MiopenHandle(uint32_t device);
  operator miopenHandle_t() const;
  // Lives while work is enqueued on a stream.
  void begin(rt::Stream stream);
  void end();

 private:
  struct Shared;
  Shared& shared_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace tenon::gpu
