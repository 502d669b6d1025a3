#include "library.hpp"

#include <hip/hip_version.h>

namespace tenon::gpu {
namespace {

// Whether the HIP runtime that the library calls, if any, is the one that the plugin has opened, and not another version beside it.
bool shares_runtime(void* library) {
  const std::string name = "libamdhip64.so." + std::to_string(HIP_VERSION_MAJOR);
  void* const ours = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  void* const function = ours != nullptr ? dlsym(ours, "hipSetDevice") : nullptr;
  if (ours != nullptr) dlclose(ours);                // it stays open by whom it was opened
  void* const its = dlsym(library, "hipSetDevice");  // its dependencies are searched, too
  return its == nullptr || its == function;
}

}  // namespace

void* open_rocm_library(std::initializer_list<const char*> names, const char* variable,
                        std::string& reason) {
  void* const library = open_library(names, variable, reason);
  if (library == nullptr || shares_runtime(library)) return library;
  reason = std::string(*names.begin()) + " belongs to another version of HIP";
  return nullptr;
}

}  // namespace tenon::gpu
