// A vendor's libraries, opened when an op first asks for them, through tables of their functions.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <mutex>
#include <string>

namespace tenon::gpu {

// The first of the names that is found; never closed, as what a library made on devices may live as long as the process. NULL with
// the reason where there is none, or where the environment's `variable` is 0.
void* open_library(std::initializer_list<const char*> names, const char* variable,
                   std::string& reason);
// Logs by whom the plugin does without a library what it would do.
void log_without(const char* what, const std::string& reason,
                 const char* by = "the plugin's own kernels");

// False with the reason where the library lacks it, and where there is a reason already.
template <class F>
bool find(void* library, const char* name, F*& function, std::string& reason) {
  if (!reason.empty()) return false;
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (function == nullptr) reason = std::string("the library has no ") + name;
  return function != nullptr;
}

// What a library has of each device: one T, made when it is first asked for, for the life of the process. [thread-safe]
template <class T>
T& one_per_device(uint32_t device) {
  static std::mutex mutex;
  static std::deque<T>& all = *new std::deque<T>;
  const std::lock_guard lock(mutex);
  while (all.size() <= device) all.emplace_back();
  return all[device];
}

}  // namespace tenon::gpu
