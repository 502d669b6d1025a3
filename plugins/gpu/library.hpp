// A vendor's libraries, opened when they are first asked for, through tables of their functions.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::gpu {

// What a library is, where people have it, and what is to do where they have not. Texts have static storage.
struct LibraryAbout {
  const char* name;                // as people call it
  std::vector<std::string> files;  // names that the loader knows, the best first
  const char* variable;  // of the environment: 0 forbids it, a path is its file or the folder of it
  const char* computes;  // "matrix products"
  const char* otherwise;              // by whom they are computed without it
  const char* remedy;                 // what to install; empty where nothing helps
  std::vector<const char*> packages;  // below Python's site-packages: "nvidia/*/lib"
  std::vector<std::string> toolkits;  // folders of the vendor's own installation, with '*'
};

// What came of a search, as `tenon devices` shows it.
struct LibraryFound {
  std::string name, version, path;
  std::string reason;  // why it is not used; empty where it is
};

// Opens it: what the process has loaded already, else by the variable, LD_LIBRARY_PATH, the packages of the Python at hand, the
// loader, the toolkits, in this order. Never closed, as what a library made on devices may live as long as the process. NULL with the
// reason where there is none. [thread-safe]
void* open_library(const LibraryAbout& about, std::string& reason);

// Notes what came of it, for `tenon devices`. Without a reason it is used; otherwise the log says by whom the plugin does without it
// and what to install: as a warning, unless the environment forbids it
// or nothing helps. Once for each library. [thread-safe]
void conclude(const LibraryAbout& about, void* library, const std::string& version,
              const std::string& reason);
// Each library of the plugin's, opened where it was not yet. Defined where the kernels of the vendor are. [thread-safe]
std::vector<LibraryFound> vendor_libraries();
// Those that `conclude` was called for. [thread-safe]
std::vector<LibraryFound> concluded_libraries();
// Whether the environment forbids it.
bool is_forbidden(const char* variable);

// "9.13.0" of one number: major·10000 + minor·100 + patch.
std::string version_text(uint64_t number);

// The table of get_interface (tenon/ext/draft/libraries.h); NULL for another name.
const void* libraries_interface(std::string_view name, uint32_t revision);

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
