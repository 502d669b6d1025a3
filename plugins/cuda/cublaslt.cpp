#include "cublaslt.hpp"

#include <mutex>
#include <string>

#include "nvidia_library.hpp"
#include "runtime.hpp"

namespace tenon::gpu {
namespace {

// Whether it can be used.
bool open_functions(CublasLt& functions) {
  static const LibraryAbout about = nvidia_library(
      "cuBLASLt", "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR), "TENON_CUDA_CUBLASLT",
      "matrix products", "pip install nvidia-cublas, or install the CUDA toolkit, for cuBLASLt");
  std::string reason;
  void* const library = open_library(about, reason);
#define FUNCTION(name) find(library, #name, functions.name, reason);
#include "cublaslt_functions.def"
#undef FUNCTION
  conclude(about, library, version_by<size_t>(library, "cublasLtGetVersion"), reason);
  if (reason.empty()) open_compiler();
  return reason.empty();
}

struct Shared {
  std::mutex mutex;
  cublasLtHandle_t handle = nullptr;
};

}  // namespace

const CublasLt* cublaslt() { return opened_once<CublasLt>(open_functions); }

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const uint32_t code = status == CUBLAS_STATUS_NOT_SUPPORTED  ? TN_UNIMPLEMENTED
                        : status == CUBLAS_STATUS_ALLOC_FAILED ? TN_OUT_OF_MEMORY
                                                               : TN_INTERNAL;
  sdk::fail(code, "[cuda] ", what, ": ", cublaslt()->cublasLtGetStatusString(status),
            "; TENON_CUDA_CUBLASLT=0 leaves products to the plugin's own kernels");
}

cublasLtHandle_t cublaslt_handle(uint32_t device) {
  Shared& shared = one_per_device<Shared>(device);
  const std::lock_guard lock(shared.mutex);
  if (shared.handle == nullptr) {
    rt::use(device);
    check(cublaslt()->cublasLtCreate(&shared.handle), "opening cuBLASLt");
  }
  return shared.handle;
}

}  // namespace tenon::gpu
