// Helpers of the loader's tests: plugin infos by path, temporary directories, forged files.
#pragma once

#include <gtest/gtest.h>
#include <sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "outcome.hpp"
#include "tenon/tenon.h"

namespace tenon::test {

namespace fs = std::filesystem;

inline fs::path built(std::string_view name) {
  return fs::path(TEST_PLUGINS) / ("broken_" + std::string(name) + ".so");
}
inline Outcome load(const fs::path& path) { return take(tn_plugin_load(str(path.string()))); }
inline Outcome quiesce(std::string_view id) { return take(tn_plugin_quiesce(str(id))); }

// The info of the plugin whose path ends with `name`.
inline std::optional<tn_plugin_info> info_of(std::string_view name) {
  for (uint32_t i = 0; i < tn_plugin_count(); ++i) {
    tn_plugin_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(take(tn_plugin_get_info(i, &info)).code, TN_OK);
    if (text(info.path).ends_with(name)) return info;
  }
  return std::nullopt;
}
inline std::string reason_of(std::string_view name) {
  const auto info = info_of(name);
  return !info ? "never seen" : info->state == TN_PLUGIN_LOADED ? "loaded" : text(info->reason);
}

inline bool has_device(std::string_view name) {
  tn_device* device = nullptr;
  return take(tn_device_find(str(name), &device)).code == TN_OK;
}

// A directory that is removed at the end.
class Directory {
 public:
  Directory() {
    std::string name = (fs::temp_directory_path() / "tenon_plugins_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  fs::path write(std::string_view name, std::string_view content) const {
    fs::remove(path_ / name);  // never overwrite a file that may be mapped
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }
  fs::path copy(std::string_view plugin, std::string_view name) const {
    fs::copy_file(built(plugin), path_ / name, fs::copy_options::overwrite_existing);
    return path_ / name;
  }

 private:
  fs::path path_;
};

inline std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The name of a library that this one needs, such as "libc.so.6" or a sanitizer's, as it is stored in the file.
inline std::string needed_by(const std::string& bytes) {
  std::smatch found;
  if (!std::regex_search(bytes, found, std::regex(R"(lib[a-z]+\.so\.[0-9]+)")))
    throw std::runtime_error("it needs no library");
  return found.str();
}
// The same name, changed so that no such library exists.
inline std::string missing(std::string name) {
  name[3] = 'X';
  return name;
}

inline std::string sha256_of(const fs::path& path) {
  char hex[SHA256_DIGEST_STRING_LENGTH];
  return SHA256File(path.c_str(), hex);
}

// An identity card; `more` contains further fields.
inline std::string card(std::string_view id, std::string_view library, std::string_view more = "") {
  return R"({"id": ")" + std::string(id) +
         R"(", "version": "1.2.3", "abi": {"major": 1, "minor": 0}, "library": ")" +
         std::string(library) + "\"" + std::string(more.empty() ? "" : ", ") + std::string(more) +
         "}";
}

// Scans the directory as part of TENON_PLUGIN_PATH.
inline void discover(const std::string& path) {
  setenv("TENON_PLUGIN_PATH", path.c_str(), 1);
  EXPECT_EQ(take(tn_plugins_discover()).code, TN_OK);
  unsetenv("TENON_PLUGIN_PATH");
}

// A copy of broken_faulty.so that commits the fault `kind` (faulty.cpp).
inline fs::path faulty(const Directory& directory, std::string_view name, std::string_view kind) {
  std::string bytes = content_of(built("faulty"));
  const size_t at = bytes.find("KIND=--------");
  EXPECT_NE(at, std::string::npos);
  bytes.replace(at + 5, kind.size(), kind);
  return directory.write(name, bytes);
}

// The processes that have opened such a copy since the last call.
class Marker {
 public:
  Marker() { setenv("TEST_MARKER", path_.c_str(), 1); }
  ~Marker() { unsetenv("TEST_MARKER"); }
  std::vector<pid_t> take() const {
    std::vector<pid_t> processes;
    std::ifstream stream(path_);
    for (pid_t process; stream >> process;) processes.push_back(process);
    fs::remove(path_);
    return processes;
  }

 private:
  Directory directory_;
  std::string path_ = (directory_.path() / "opened").string();
};

// Kinds of broken plugin that were tried both ways, by path and by discovery.
inline int g_kinds = 0;

// test.good still loads and computes: the refused plugin did no harm.
void expect_good_works();

}  // namespace tenon::test
