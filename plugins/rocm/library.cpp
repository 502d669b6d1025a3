#include "library.hpp"

#include <hip/hip_version.h>

#include <cstdlib>

namespace tenon::gpu {
namespace {

// Whether the library uses the same HIP runtime as the plugin (if any), and not another version beside it.
bool shares_runtime(void* library) {
  const std::string name = "libamdhip64.so." + std::to_string(HIP_VERSION_MAJOR);
  void* const ours = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  void* const function = ours != nullptr ? dlsym(ours, "hipSetDevice") : nullptr;
  if (ours != nullptr) dlclose(ours);                // whoever opened it keeps it open
  void* const its = dlsym(library, "hipSetDevice");  // also searches its dependencies
  return its == nullptr || its == function;
}

}  // namespace

LibraryAbout amd_library(const char* name, const std::vector<std::string>& files,
                         const char* variable, const char* computes, const char* otherwise,
                         const char* remedy) {
  LibraryAbout about{
      name, files, variable, computes, otherwise, remedy, {"_rocm_sdk_*/lib", "torch/lib"}, {}};
  for (const char* const root : {"ROCM_PATH", "ROCM_HOME"})
    if (const char* const folder = std::getenv(root); folder != nullptr)
      about.toolkits.push_back(std::string(folder) + "/lib");
  about.toolkits.emplace_back("/opt/rocm/lib");
  about.toolkits.push_back("/opt/rocm-" + std::to_string(HIP_VERSION_MAJOR) + "*/lib");
  return about;
}

void* open_rocm_library(const LibraryAbout& about, std::string& reason) {
  void* const library = open_library(about, reason);
  if (library == nullptr || shares_runtime(library)) return library;
  reason = about.files.front() + " belongs to another version of HIP";
  return nullptr;
}

}  // namespace tenon::gpu
