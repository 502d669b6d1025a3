// AMD's libraries, opened when an op first asks for them.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>

namespace tenon::gpu {

// The first of the names that is found; never closed, as what a library made on devices may live as long as the process. NULL with
// the reason where there is none, where it calls another HIP runtime than the plugin's, or where the environment's `variable` is 0.
void* open_rocm_library(std::initializer_list<const char*> names, const char* variable,
                        std::string& reason);
// Logs what the plugin does without a library.
void log_without(const char* what, const std::string& reason);

template <class F>
bool find(void* library, const char* name, F*& function, std::string& reason) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (function == nullptr) reason = std::string("the library has no ") + name;
  return function != nullptr;
}

}  // namespace tenon::gpu
