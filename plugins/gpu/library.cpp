#include "library.hpp"

#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "library_search.hpp"
#include "runtime.hpp"
#include "tenon/ext/draft/libraries.h"
#include "tenon/plugin.hpp"

namespace tenon::gpu {
namespace {

namespace fs = std::filesystem;

struct Concluded {
  std::mutex mutex;
  std::vector<LibraryFound> all;
};
Concluded& concluded() {
  static Concluded& one = *new Concluded;
  return one;
}

// Opens a file that exists. Returns NULL and the loader's message if that fails.
void* load(const std::string& path, std::string& problem) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) problem = dlerror();
  return library;
}

// Tries the names in one folder.
void* load_from(const std::string& folder, const LibraryAbout& about, std::string& problem) {
  for (const std::string& file : about.files) {
    const std::string path = (fs::path(folder) / file).string();
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    if (void* const library = load(path, problem); library != nullptr) return library;
  }
  return nullptr;
}

// Tries folders in order; the loader's own search comes after the first `before_loader`.
struct Places {
  std::vector<std::string> folders;
  size_t before_loader = 0;
};
Places places_of(const LibraryAbout& about) {
  Places places{folders_of("LD_LIBRARY_PATH")};
  for (const std::string& packages : package_folders())
    for (const char* const inside : about.packages)
      for (const std::string& folder : matches(packages + "/" + inside))
        places.folders.push_back(folder);
  places.before_loader = places.folders.size();
  for (const std::string& pattern : about.toolkits)
    for (const std::string& folder : matches(pattern)) places.folders.push_back(folder);
  return places;
}

void* load_by_name(const LibraryAbout& about, int more) {
  for (const std::string& file : about.files)
    if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | more);
        library != nullptr)
      return library;
  return nullptr;
}

// "; there is /…/libcudnn.so.8", if one of the places only has another version.
std::string other_version(const LibraryAbout& about, const Places& places) {
  const std::string stem = about.files.front().substr(0, about.files.front().find(".so") + 3);
  for (const std::string& folder : places.folders)
    for (const std::string& path : matches((fs::path(folder) / (stem + ".*")).string()))
      return "; there is " + path + ", another version";
  return "";
}

void* search(const LibraryAbout& about, std::string& reason) {
  if (void* const library = load_by_name(about, RTLD_NOLOAD); library != nullptr) return library;
  const Places places = places_of(about);
  std::string problem;
  for (size_t i = 0; i <= places.folders.size(); ++i) {
    void* library = nullptr;
    if (i == places.before_loader) library = load_by_name(about, 0);
    if (library == nullptr && i < places.folders.size())
      library = load_from(places.folders[i], about, problem);
    if (library != nullptr) return library;
  }
  reason = problem.empty() ? about.files.front() + " is not found" + other_version(about, places)
                           : "it cannot be loaded: " + problem;
  return nullptr;
}

// Tries the file or folder that the environment names, and nothing else.
void* open_named(const LibraryAbout& about, const std::string& path, std::string& reason) {
  std::error_code error;
  std::string problem;
  void* const library =
      fs::is_directory(path, error) ? load_from(path, about, problem) : load(path, problem);
  if (library == nullptr)
    reason = std::string(about.variable) + " names " + path + ": " +
             (problem.empty() ? about.files.front() + " is not in it" : problem);
  return library;
}

std::string path_of(void* library) {
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr)
    return "";
  std::error_code error;
  const fs::path real = fs::canonical(map->l_name, error);
  return error ? map->l_name : real.string();
}

}  // namespace

bool is_forbidden(const char* variable) {
  const char* const wanted = std::getenv(variable);
  return wanted != nullptr && std::string_view(wanted) == "0";
}

void* open_library(const LibraryAbout& about, std::string& reason) {
  if (is_forbidden(about.variable)) {
    reason = std::string(about.variable) + " is 0";
    return nullptr;
  }
  const char* const wanted = std::getenv(about.variable);
  if (wanted != nullptr && std::string_view(wanted).find('/') != std::string_view::npos)
    return open_named(about, wanted, reason);
  return search(about, reason);
}

void open_beside(void* library, const std::string& pattern) {
  const fs::path path = path_of(library);
  if (path.empty()) return;
  for (const std::string& file : matches(path.parent_path().string() + "/" + pattern))
    dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void conclude(const LibraryAbout& about, void* library, const std::string& version,
              const std::string& reason) {
  {
    const std::lock_guard lock(concluded().mutex);
    for (const LibraryFound& one : concluded().all)
      if (one.name == about.name) return;
    concluded().all.push_back({about.name, version, path_of(library), reason});
  }
  if (reason.empty()) return;
  const bool helps = !is_forbidden(about.variable) && *about.remedy != '\0';
  const std::string message = std::string("[") + rt::kName + "] " + about.computes + " by " +
                              about.otherwise + ", as " + reason +
                              (helps ? std::string("; ") + about.remedy : "");
  sdk::host()->log(helps ? 2 : 1, sdk::str_of(message));
}

std::vector<LibraryFound> concluded_libraries() {
  const std::lock_guard lock(concluded().mutex);
  return concluded().all;
}

std::string version_text(uint64_t number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

const void* libraries_interface(std::string_view name, uint32_t revision) {
  static const tn_libraries table = {
      sizeof(tn_libraries), 0, [](tn_library_fn tell, void* ctx) {
        return sdk::guard([&] {
          for (const LibraryFound& one : vendor_libraries()) {
            const tn_library_info info{
                sizeof info,           one.reason.empty() ? TN_LIBRARY_USED : TN_LIBRARY_MISSING,
                sdk::str_of(one.name), sdk::str_of(one.version),
                sdk::str_of(one.path), sdk::str_of(one.reason)};
            tell(ctx, &info);
          }
        });
      }};
  return name == TN_LIBRARIES_NAME && revision == TN_LIBRARIES_REVISION ? &table : nullptr;
}

}  // namespace tenon::gpu
