#include "rocblas.hpp"

#include <dlfcn.h>
#include <hip/hip_version.h>

#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>

#include "backend.hpp"

namespace tenon::gpu {
namespace {

// Those that belong to this HIP: librocblas.so.3 came with ROCm 5.7.
#if HIP_VERSION_MAJOR <= 5
constexpr const char* kNames[] = {"librocblas.so.3", "librocblas.so.0"};
#elif HIP_VERSION_MAJOR == 6
constexpr const char* kNames[] = {"librocblas.so.4"};
#elif HIP_VERSION_MAJOR == 7
constexpr const char* kNames[] = {"librocblas.so.5"};
#else
constexpr const char* kNames[] = {"librocblas.so"};
#endif

template <class F>
bool find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  return function != nullptr;
}

// Whether the HIP runtime that the library calls, if any, is the one that the plugin has opened, and not another version beside it.
bool shares_runtime(void* library) {
  const std::string name = "libamdhip64.so." + std::to_string(HIP_VERSION_MAJOR);
  void* const ours = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  void* const function = ours != nullptr ? dlsym(ours, "hipSetDevice") : nullptr;
  if (ours != nullptr) dlclose(ours);                // it stays open by whom it was opened
  void* const its = dlsym(library, "hipSetDevice");  // its dependencies are searched, too
  return its == nullptr || its == function;
}

// What keeps the library from being used, or nothing.
std::string open_library(Rocblas& functions) {
  const char* const wanted = std::getenv("TENON_ROCM_ROCBLAS");
  if (wanted != nullptr && std::string_view(wanted) == "0") return "TENON_ROCM_ROCBLAS is 0";
  void* library = nullptr;
  // Never closed: what it made on devices may live as long as the process.
  for (const char* const name : kNames)
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string(kNames[0]) + " is not found";
  if (!shares_runtime(library)) return "librocblas belongs to another version of HIP";
#define FUNCTION(name) \
  if (!find(library, #name, functions.name)) return "librocblas has no " #name;
#include "rocblas_functions.def"
#undef FUNCTION
  return {};
}

struct Shared {
  std::mutex mutex;
  rocblas_handle handle = nullptr;
};

Shared& shared_of(uint32_t device) {
  static std::mutex mutex;
  static std::deque<Shared>& all = *new std::deque<Shared>;
  const std::lock_guard lock(mutex);
  while (all.size() <= device) all.emplace_back();
  return all[device];
}

rocblas_handle make_handle(uint32_t device) {
  rt::use(device);
  rocblas_handle made = nullptr;
  check(rocblas()->rocblas_create_handle(&made), "opening rocBLAS");
  // Sums in one order, so that a call gives the same each time.
  check(rocblas()->rocblas_set_atomics_mode(made, rocblas_atomics_not_allowed), "opening rocBLAS");
  return made;
}

}  // namespace

const Rocblas* rocblas() {
  static const Rocblas* const one = []() -> const Rocblas* {
    static Rocblas functions;
    const std::string reason = open_library(functions);
    if (reason.empty()) return &functions;
    const std::string message = "[rocm] matrix products by the plugin's own kernels, as " + reason;
    sdk::host()->log(1, sdk::str_of(message));
    return nullptr;
  }();
  return one;
}

void check(rocblas_status status, const char* what) {
  if (status == rocblas_status_success || status == rocblas_status_perf_degraded) return;
  const uint32_t code = status == rocblas_status_memory_error      ? TN_OUT_OF_MEMORY
                        : status == rocblas_status_not_implemented ? TN_UNIMPLEMENTED
                                                                   : TN_INTERNAL;
  sdk::fail(code, "[rocm] ", what, ": ", rocblas()->rocblas_status_to_string(status),
            "; TENON_ROCM_ROCBLAS=0 leaves products to the plugin's own kernels");
}

RocblasHandle::RocblasHandle(const tn_call& call, uint64_t workspace) {
  Shared& shared = shared_of(call.device_index);
  lock_ = std::unique_lock(shared.mutex);
  if (shared.handle == nullptr) shared.handle = make_handle(call.device_index);
  handle_ = shared.handle;
  check(
      rocblas()->rocblas_set_stream(handle_, static_cast<ihipStream_t*>(stream_of(call).handle())),
      "choosing a stream");
  check(rocblas()->rocblas_set_workspace(handle_, call.scratch, workspace), "lending memory");
}

}  // namespace tenon::gpu
