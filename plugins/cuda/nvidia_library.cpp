#include "nvidia_library.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>

namespace tenon::gpu {

LibraryAbout nvidia_library(const char* name, const std::string& file, const char* variable,
                            const char* computes, const char* remedy) {
  LibraryAbout about{name,
                     {file},
                     variable,
                     computes,
                     "the plugin's own kernels",
                     remedy,
                     // nvidia/cu13/lib, nvidia/cudnn/lib; before CUDA 13 nvidia/cublas/lib
                     {"nvidia/*/lib"},
                     {}};
  for (const char* const root : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const folder = std::getenv(root); folder != nullptr)
      about.toolkits.push_back(std::string(folder) + "/lib64");
  about.toolkits.emplace_back("/usr/local/cuda/lib64");
  about.toolkits.push_back("/usr/local/cuda-" + std::to_string(CUDART_VERSION / 1000) + "*/lib64");
  return about;
}

namespace {

bool open_nvrtc() {
  const std::string version = std::to_string(CUDART_VERSION / 1000);
  const LibraryAbout about =
      nvidia_library("NVRTC", "libnvrtc.so." + version, "TENON_CUDA_NVRTC", "attention",
                     "pip install nvidia-cuda-nvrtc, or install the CUDA toolkit");
  std::string reason, found;
  void* const library = open_library(about, reason);
  int (*ask)(int*, int*) = nullptr;
  int major = 0, minor = 0;
  if (library != nullptr && find(library, "nvrtcVersion", ask, found) && ask(&major, &minor) == 0)
    found = std::to_string(major) + "." + std::to_string(minor);
  conclude(about, library, reason.empty() ? found : "", reason);
  // NVRTC opens this by name, too, and wheels lie where the loader does not look.
  if (library != nullptr) open_beside(library, "libnvrtc-builtins.so." + version + "*");
  return library != nullptr;
}

}  // namespace

void open_compiler() { [[maybe_unused]] static const bool is_open = open_nvrtc(); }

}  // namespace tenon::gpu
