#include "rocblas.hpp"

#include <hip/hip_version.h>

#include <string>

#include "backend.hpp"
#include "library.hpp"

namespace tenon::gpu {
namespace {

// Whether it can be used. The file names must match this HIP; librocblas.so.3 came with 5.7.
bool open_functions(Rocblas& functions) {
  static const LibraryAbout about =
      amd_library("rocBLAS",
#if HIP_VERSION_MAJOR <= 5
                  {"librocblas.so.3", "librocblas.so.0"},
#elif HIP_VERSION_MAJOR == 6
                  {"librocblas.so.4"},
#elif HIP_VERSION_MAJOR == 7
                  {"librocblas.so.5"},
#else
                  {"librocblas.so"},
#endif
                  "TENON_ROCM_ROCBLAS", "matrix products", "the plugin's own kernels",
                  "install ROCm's package rocblas");
  std::string reason;
  void* const library = open_rocm_library(about, reason);
#define FUNCTION(name) find(library, #name, functions.name, reason);
#include "rocblas_functions.def"
#undef FUNCTION
  conclude(about, library, "", reason);
  return reason.empty();
}

struct Shared {
  std::mutex mutex;
  rocblas_handle handle = nullptr;
};

rocblas_handle make_handle(uint32_t device) {
  rt::use(device);
  rocblas_handle made = nullptr;
  check(rocblas()->rocblas_create_handle(&made), "opening rocBLAS");
  // Forbids atomic sums, so that results are reproducible.
  check(rocblas()->rocblas_set_atomics_mode(made, rocblas_atomics_not_allowed), "opening rocBLAS");
  return made;
}

}  // namespace

const Rocblas* rocblas() { return opened_once<Rocblas>(open_functions); }

void check(rocblas_status status, const char* what) {
  if (status == rocblas_status_success || status == rocblas_status_perf_degraded) return;
  const uint32_t code = status == rocblas_status_memory_error      ? TN_OUT_OF_MEMORY
                        : status == rocblas_status_not_implemented ? TN_UNIMPLEMENTED
                                                                   : TN_INTERNAL;
  sdk::fail(code, "[rocm] ", what, ": ", rocblas()->rocblas_status_to_string(status),
            "; TENON_ROCM_ROCBLAS=0 leaves products to the plugin's own kernels");
}

RocblasHandle::RocblasHandle(const tn_call& call, uint64_t workspace) {
  Shared& shared = one_per_device<Shared>(call.device_index);
  lock_ = std::unique_lock(shared.mutex);
  if (shared.handle == nullptr) shared.handle = make_handle(call.device_index);
  handle_ = shared.handle;
  check(
      rocblas()->rocblas_set_stream(handle_, static_cast<ihipStream_t*>(stream_of(call).handle())),
      "choosing a stream");
  check(rocblas()->rocblas_set_workspace(handle_, call.scratch, workspace), "lending memory");
}

}  // namespace tenon::gpu
