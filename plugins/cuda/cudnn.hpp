// cuDNN, opened when an op first needs it. Without it, the plugin's own kernels compute convolutions and attention.
#pragma once

#include <cudnn.h>

#include <mutex>
#include <vector>

#include "runtime.hpp"
#include "tenon/plugin.hpp"

namespace tenon::gpu {

// Whether the library is present and TENON_CUDA_CUDNN=0 does not forbid it; if not, the reason is logged once. Only then may its functions
// be called by their own names. [thread-safe]
bool has_cudnn();

// Throws sdk::Error with the library's message.
void check(cudnnStatus_t status, const char* what);

// The device's handle, for one thread at a time, because it also holds the stream. Throws sdk::Error. [thread-safe]
class CudnnHandle {
 public:
  explicit CudnnHandle(uint32_t device);
  operator cudnnHandle_t() const;
  void set_stream(rt::Stream stream);

 private:
  struct Shared;
  Shared& shared_;
  std::unique_lock<std::mutex> lock_;
};

// conv and its gradients, attention and its gradients: ops/.
std::vector<tn_kernel> cudnn_conv_kernels();
std::vector<tn_kernel> cudnn_attention_kernels();

}  // namespace tenon::gpu
