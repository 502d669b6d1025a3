#include "library.hpp"

#include <hip/hip_version.h>

#include <cstdlib>
#include <string_view>

#include "tenon/plugin.hpp"

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
  const char* const wanted = std::getenv(variable);
  if (wanted != nullptr && std::string_view(wanted) == "0") {
    reason = std::string(variable) + " is 0";
    return nullptr;
  }
  void* library = nullptr;
  for (const char* const name : names)
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    reason = std::string(*names.begin()) + " is not found";
  else if (!shares_runtime(library))
    reason = std::string(*names.begin()) + " belongs to another version of HIP";
  return reason.empty() ? library : nullptr;
}

void log_without(const char* what, const std::string& reason) {
  const std::string message =
      std::string("[rocm] ") + what + " by the plugin's own kernels, as " + reason;
  sdk::host()->log(1, sdk::str_of(message));
}

}  // namespace tenon::gpu
