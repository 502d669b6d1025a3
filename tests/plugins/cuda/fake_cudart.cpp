// The functions of the CUDA runtime that cuDNN's frontend calls, where the simulator takes the place of a device: its memory is the host's.
// What no plan of the plugin needs is refused.
#include "fake_cudart.hpp"

#include <cuda_runtime_api.h>

#include <cstring>

int fake_architecture = 90;

extern "C" {

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  properties->major = fake_architecture / 10;
  properties->minor = fake_architecture % 10;
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) { return "the stand-in refuses it"; }

#define REFUSED(name, parameters) \
  cudaError_t name parameters { return cudaErrorNotSupported; }
REFUSED(cudaDeviceSynchronize, ())
REFUSED(cudaEventCreate, (cudaEvent_t*))
REFUSED(cudaEventDestroy, (cudaEvent_t))
REFUSED(cudaEventElapsedTime, (float*, cudaEvent_t, cudaEvent_t))
REFUSED(cudaEventRecord, (cudaEvent_t, cudaStream_t))
REFUSED(cudaEventSynchronize, (cudaEvent_t))
}  // extern "C"
