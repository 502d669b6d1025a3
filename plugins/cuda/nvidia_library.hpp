// NVIDIA's libraries, in the places where its wheels and toolkits put them.
#pragma once

#include "library.hpp"

namespace tenon::gpu {

LibraryAbout nvidia_library(const char* name, const std::string& file, const char* variable,
                            const char* computes, const char* remedy);

// Opens NVRTC, with which cuDNN and cuBLASLt compile some kernels. They open it by name, and so find it if it is open. [thread-safe]
void open_compiler();

// The version that a function of the library returns: major·10000 + minor·100 + patch. Empty if there is no such function.
template <class Number>
std::string version_by(void* library, const char* function) {
  Number (*ask)() = nullptr;
  std::string reason;
  return library != nullptr && find(library, function, ask, reason) ? version_text(ask()) : "";
}

}  // namespace tenon::gpu
