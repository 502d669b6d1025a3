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

}  // namespace tenon::gpu
