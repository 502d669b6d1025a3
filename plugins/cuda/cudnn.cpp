#include "cudnn.hpp"

#include <string>

#include "nvidia_library.hpp"

namespace tenon::gpu {
namespace {

struct Functions {
#define FUNCTION(result, name, parameters, arguments) decltype(&::name) name = nullptr;
#include "cudnn_functions.def"
#undef FUNCTION
};
Functions functions;

bool open_functions() {
  static const LibraryAbout about = nvidia_library(
      "cuDNN", "libcudnn.so." + std::to_string(CUDNN_MAJOR), "TENON_CUDA_CUDNN",
      "convolutions and attention", "pip install nvidia-cudnn-cu13, or install cuDNN 9");
  std::string reason;
  void* const library = open_library(about, reason);
#define FUNCTION(result, name, parameters, arguments) find(library, #name, functions.name, reason);
#include "cudnn_functions.def"
#undef FUNCTION
  conclude(about, library, version_by<size_t>(library, "cudnnGetVersion"), reason);
  if (reason.empty()) open_compiler();
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
};

CudnnHandle::CudnnHandle(uint32_t device)
    : shared_(one_per_device<Shared>(device)), lock_(shared_.mutex) {
  if (shared_.handle != nullptr) return;
  rt::use(device);
  check(cudnnCreate(&shared_.handle), "opening cuDNN");
}

CudnnHandle::operator cudnnHandle_t() const { return shared_.handle; }

void CudnnHandle::set_stream(rt::Stream stream) {
  // Each time, because a new stream may have the address of a destroyed one.
  check(cudnnSetStream(shared_.handle, static_cast<cudaStream_t>(stream)), "choosing a stream");
}

}  // namespace tenon::gpu

// The frontend's headers call the library by its own names. These forward to the opened library and are not exported.
#define FUNCTION(result, name, parameters, arguments) \
  extern "C" result name parameters { return tenon::gpu::functions.name arguments; }
#include "cudnn_functions.def"
#undef FUNCTION
