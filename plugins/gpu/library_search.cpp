#include "library_search.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace tenon::gpu {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

void add(std::vector<std::string>& list, const std::string& folder) {
  if (!folder.empty() && std::find(list.begin(), list.end(), folder) == list.end())
    list.push_back(folder);
}

// The program that the shell would run; empty if none.
std::string on_path(const std::string& program) {
  for (const std::string& folder : folders_of("PATH"))
    if (const std::string at = folder + "/" + program; access(at.c_str(), X_OK) == 0) return at;
  return "";
}

// The name that the process was called by, such as "/venv/bin/python3"; /proc/self/exe no longer has it.
std::string own_program() {
  std::ifstream line("/proc/self/cmdline");
  std::string first;
  std::getline(line, first, '\0');
  return first.empty() || first.find('/') != std::string::npos ? first : on_path(first);
}

// The folders above bin/ of a program and of the file it links to.
void add_prefixes(std::vector<std::string>& prefixes, const std::string& program) {
  if (program.empty()) return;
  std::error_code error;
  add(prefixes, fs::absolute(program, error).parent_path().parent_path().string());
  if (const fs::path real = fs::canonical(program, error); !error)
    add(prefixes, real.parent_path().parent_path().string());
}

std::vector<std::string> prefixes() {
  std::vector<std::string> found;
  add(found, variable("VIRTUAL_ENV"));
  add(found, variable("CONDA_PREFIX"));
  add_prefixes(found, own_program());
  add_prefixes(found, on_path("python3"));
  if (const std::string home = variable("HOME"); !home.empty()) add(found, home + "/.local");
  add(found, "/usr/local");
  return found;
}

// The file that contains this code.
std::string own_file() {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&own_file), &info) != 0 && info.dli_fname != nullptr
             ? info.dli_fname
             : "";
}

}  // namespace

std::vector<std::string> folders_of(const char* name) {
  const std::string text = variable(name);
  std::vector<std::string> folders;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(':', start), text.size());
    add(folders, text.substr(start, end - start));
    start = end + 1;
  }
  return folders;
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::vector<std::string> package_folders() {
  std::vector<std::string> folders = folders_of("PYTHONPATH");
  // In a wheel, the plugin lies a few folders below the packages.
  for (fs::path at = fs::path(own_file()).parent_path(); at.has_relative_path();
       at = at.parent_path())
    add(folders, at.string());
  for (const std::string& prefix : prefixes())
    for (const char* const inside : {"/lib/python3*/site-packages", "/lib/python3*/dist-packages",
                                     "/lib64/python3*/site-packages"})
      for (const std::string& folder : matches(prefix + inside)) add(folders, folder);
  return folders;
}

}  // namespace tenon::gpu
