#include "cudnn.hpp"

#include <string>

#include "library.hpp"

namespace tenon::gpu {
namespace {

struct Functions {
#define FUNCTION(result, name, parameters, arguments) decltype(&::name) name = nullptr;
#include "cudnn_functions.def"
#undef FUNCTION
};
Functions functions;

bool open_functions() {
  const std::string name = "libcudnn.so." + std::to_string(CUDNN_MAJOR);
  std::string reason;
  void* const library = open_library({name.c_str()}, "TENON_CUDA_CUDNN", reason);
#define FUNCTION(result, name, parameters, arguments) find(library, #name, functions.name, reason);
#include "cudnn_functions.def"
#undef FUNCTION
  if (!reason.empty()) log_without("convolutions and attention", reason);
  return reason.empty();
}

}  // namespace

bool has_cudnn() {
  static const bool is_open = open_functions();
  return is_open;
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  sdk::fail(TN_INTERNAL, "[cuda] ", what, ": ", cudnnGetErrorString(status),
            "; TENON_CUDA_CUDNN=0 leaves convolutions and attention to the plugin's own kernels");
}

struct CudnnHandle::Shared {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
  rt::Stream stream = nullptr;
};

CudnnHandle::CudnnHandle(uint32_t device)
    : shared_(one_per_device<Shared>(device)), lock_(shared_.mutex) {
  if (shared_.handle != nullptr) return;
  rt::use(device);
  check(cudnnCreate(&shared_.handle), "opening cuDNN");
}

CudnnHandle::operator cudnnHandle_t() const { return shared_.handle; }

void CudnnHandle::set_stream(rt::Stream stream) {
  if (shared_.stream == stream) return;
  check(cudnnSetStream(shared_.handle, static_cast<cudaStream_t>(stream)), "choosing a stream");
  shared_.stream = stream;
}

}  // namespace tenon::gpu

// The frontend's headers call the library by its own names: these go to the one that was opened, and are not exported.
#define FUNCTION(result, name, parameters, arguments) \
  extern "C" result name parameters { return tenon::gpu::functions.name arguments; }
#include "cudnn_functions.def"
#undef FUNCTION
