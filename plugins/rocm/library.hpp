// AMD's libraries, opened when an op first asks for them.
#pragma once

#include "../gpu/library.hpp"

namespace tenon::gpu {

LibraryAbout amd_library(const char* name, const std::vector<std::string>& files,
                         const char* variable, const char* computes, const char* otherwise,
                         const char* remedy);

// The same as open_library; NULL also where the library calls another HIP runtime than the plugin's.
void* open_rocm_library(const LibraryAbout& about, std::string& reason);

}  // namespace tenon::gpu
