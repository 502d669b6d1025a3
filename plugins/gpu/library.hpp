// A vendor's libraries, opened when first needed, through tables of their functions.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::gpu {

// Describes a library: where it may be installed, and what to do if it is not. Texts have static storage.
struct LibraryAbout {
  const char* name;                // its name in messages
  std::vector<std::string> files;  // names for the loader, the best first
  const char*
      variable;  // environment variable: 0 forbids the library; a path is its file or folder
  const char* computes;               // "matrix products"
  const char* otherwise;              // what computes them instead
  const char* remedy;                 // what to install; empty if nothing helps
  std::vector<const char*> packages;  // below Python's site-packages: "nvidia/*/lib"
  std::vector<std::string> toolkits;  // folders of the vendor's own installation; may contain '*'
};

// The outcome of a search, for `tenon devices`.
struct LibraryFound {
  std::string name, version, path;
  std::string reason;  // why it is not used; empty if it is
};

// Opens the library. Takes what the process has already loaded, or searches in this order: the variable, LD_LIBRARY_PATH, packages of the
// current Python, the loader, the toolkits. Never closes it, because what it creates on devices may live as long as the process. Returns
// NULL with the reason if there is none. [thread-safe]
void* open_library(const LibraryAbout& about, std::string& reason);

// Opens the files in the folder of an open library that match a pattern, for what it opens by name later: the loader looks for names among
// what is open, but not beside the library. [thread-safe]
void open_beside(void* library, const std::string& pattern);

// Records the outcome for `tenon devices`. If there is a reason, also logs, once for each library, what the plugin uses instead and what to
// install: as a warning, unless the environment forbids the library or nothing helps. [thread-safe]
void conclude(const LibraryAbout& about, void* library, const std::string& version,
              const std::string& reason);
// Opens each library of the plugin that is not open yet. Defined where the vendor's kernels are. [thread-safe]
std::vector<LibraryFound> vendor_libraries();
// The libraries that `conclude` was called for. [thread-safe]
std::vector<LibraryFound> concluded_libraries();
// Whether the environment forbids it.
bool is_forbidden(const char* variable);

// "9.13.0" from one number: major·10000 + minor·100 + patch.
std::string version_text(uint64_t number);

// The table for get_interface (tenon/ext/draft/libraries.h); NULL for another name.
const void* libraries_interface(std::string_view name, uint32_t revision);

// Looks up a function. Returns false with the reason if the library lacks it, or if there already is a reason.
template <class F>
bool find(void* library, const char* name, F*& function, std::string& reason) {
  if (!reason.empty()) return false;
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (function == nullptr) reason = std::string("the library has no ") + name;
  return function != nullptr;
}

// A table of functions that `open` fills at the first call; NULL if `open` says that the library cannot be used. [thread-safe]
template <class Functions>
const Functions* opened_once(bool (*open)(Functions&)) {
  static const Functions* const one = [open]() -> const Functions* {
    static Functions functions;
    return open(functions) ? &functions : nullptr;
  }();
  return one;
}

// A library's state for each device: one T, made on demand, for the life of the process. [thread-safe]
template <class T>
T& one_per_device(uint32_t device) {
  static std::mutex mutex;
  static std::deque<T>& all = *new std::deque<T>;
  const std::lock_guard lock(mutex);
  while (all.size() <= device) all.emplace_back();
  return all[device];
}

}  // namespace tenon::gpu
