#include "cublaslt.hpp"

#include <dlfcn.h>

#include <mutex>
#include <string>
#include <vector>

#include "runtime.hpp"

namespace tenon::gpu {
namespace {

template <class F>
bool find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  return function != nullptr;
}

const CublasLt* open_library() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  // Never closed: what it made on devices may live as long as the process.
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  static CublasLt functions;
  bool found = library != nullptr;
#define FUNCTION(name) found = found && find(library, #name, functions.name);
#include "cublaslt_functions.def"
#undef FUNCTION
  if (found) return &functions;
  const std::string message = "[cuda] matrix products by the plugin's own kernels, as " + name +
                              (library == nullptr ? " is not found" : " lacks a function");
  sdk::host()->log(1, sdk::str_of(message));
  return nullptr;
}

}  // namespace

const CublasLt* cublaslt() {
  static const CublasLt* const one = open_library();
  return one;
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const uint32_t code = status == CUBLAS_STATUS_ALLOC_FAILED ? TN_OUT_OF_MEMORY : TN_INTERNAL;
  sdk::fail(code, "[cuda] ", what, ": ", cublaslt()->cublasLtGetStatusString(status));
}

cublasLtHandle_t cublaslt_handle(uint32_t device) {
  static std::mutex mutex;
  static std::vector<cublasLtHandle_t>& handles = *new std::vector<cublasLtHandle_t>;
  const std::lock_guard lock(mutex);
  if (handles.size() <= device) handles.resize(device + 1);
  if (handles[device] == nullptr) {
    rt::use(device);
    check(cublaslt()->cublasLtCreate(&handles[device]), "opening cuBLASLt");
  }
  return handles[device];
}

}  // namespace tenon::gpu
