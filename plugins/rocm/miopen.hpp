// MIOpen, opened when a convolution first asks for it: a machine without it convolves by the plugin's own kernels.
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

// NULL where the library is missing, which is logged once, or TENON_ROCM_MIOPEN=0 forbids it. [thread-safe]
const Miopen* miopen();

// conv and its gradients: ops/conv.cpp.
std::vector<tn_kernel> miopen_kernels();

// Throws sdk::Error with the library's words; TN_UNIMPLEMENTED where it cannot compute what is asked.
void check(miopenStatus_t status, const char* what);

// The device's handle, for one thread at a time. It has memory of its own, so a stream waits for what another enqueued with it
// before. Throws sdk::Error. [thread-safe]
class MiopenHandle {
 public:
  explicit MiopenHandle(uint32_t device);
  operator miopenHandle_t() const;
  // Around what is enqueued on a stream.
  void begin(rt::Stream stream);
  void end();

 private:
  struct Shared;
  Shared& shared_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace tenon::gpu
