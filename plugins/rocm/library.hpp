// AMD's libraries, opened when an op first needs them.
#pragma once

#include "../gpu/library.hpp"

namespace tenon::gpu {

LibraryAbout amd_library(const char* name, const std::vector<std::string>& files,
                         const char* variable, const char* computes, const char* otherwise,
                         const char* remedy);

// Like open_library, but also NULL if the library uses another HIP runtime than the plugin.
void* open_rocm_library(const LibraryAbout& about, std::string& reason);

}  // namespace tenon::gpu
