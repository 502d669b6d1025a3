#include "hipblaslt.hpp"

#include <hip/hip_version.h>

#include <map>
#include <mutex>

#include "library.hpp"
#include "runtime.hpp"

namespace tenon::gpu {
namespace {

// Whether it can be used. The file names must match this HIP.
bool open_functions(HipblasLt& functions) {
  std::string reason;
  void* library = nullptr;
#if defined(TENON_HIPBLASLT)  // a stand-in, beside any HIP
  constexpr const char* kName = TENON_HIPBLASLT;
#elif HIP_VERSION_MAJOR == 6
  constexpr const char* kName = "libhipblaslt.so.0";
#elif HIP_VERSION_MAJOR == 7
  constexpr const char* kName = "libhipblaslt.so.1";
#else
  constexpr const char* kName = "libhipblaslt.so";
#endif
  static const LibraryAbout about =
      amd_library("hipBLASLt", {kName}, "TENON_ROCM_HIPBLASLT", "matrix products", "rocBLAS",
                  HIP_VERSION_MAJOR < 6 ? "" : "install ROCm's package hipblaslt");
#if HIP_VERSION_MAJOR < 6 && !defined(TENON_HIPBLASLT)
  reason = std::string(kName) + " of ROCm 5 has another interface";
#else
  library = open_rocm_library(about, reason);
#endif
#define FUNCTION(name) find(library, #name, functions.name, reason);
#include "hipblaslt_functions.def"
#undef FUNCTION
  conclude(about, library, "", reason);
  return reason.empty();
}

struct Shared {
  std::mutex mutex;
  std::map<const void*, hipblasLtHandle_t> handles;  // by stream
};

}  // namespace

const HipblasLt* hipblaslt() { return opened_once<HipblasLt>(open_functions); }

void check(hipblasStatus_t status, const char* what) {
  if (status == HIPBLAS_STATUS_SUCCESS) return;
  const bool lacks =
      status == HIPBLAS_STATUS_NOT_SUPPORTED || status == HIPBLAS_STATUS_ARCH_MISMATCH;
  const uint32_t code = lacks                                   ? TN_UNIMPLEMENTED
                        : status == HIPBLAS_STATUS_ALLOC_FAILED ? TN_OUT_OF_MEMORY
                                                                : TN_INTERNAL;
  sdk::fail(code, "[rocm] ", what, ": hipBLASLt says status ", static_cast<int>(status),
            "; TENON_ROCM_HIPBLASLT=0 leaves products to rocBLAS");
}

hipblasLtHandle_t hipblaslt_handle(const tn_call& call) {
  Shared& shared = one_per_device<Shared>(call.device_index);
  const std::lock_guard lock(shared.mutex);
  hipblasLtHandle_t& handle = shared.handles[call.stream];
  if (handle == nullptr) {
    rt::use(call.device_index);
    check(hipblaslt()->hipblasLtCreate(&handle), "opening hipBLASLt");
  }
  return handle;
}

}  // namespace tenon::gpu
