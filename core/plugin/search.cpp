#include "plugin/search.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "plugin/verdicts.hpp"

namespace tenon::core {
namespace {

namespace fs = std::filesystem;

class Places {
 public:
  // A directory that the user names and its subdirectories.
  void add_asked_for(const fs::path& directory) {
    std::error_code error;
    if (fs::is_directory(directory, error)) return add(directory, true);
    const bool there = fs::exists(directory, error);
    places_.push_back({directory.string(),
                       there ? "TENON_PLUGIN_PATH names directories, and this is a file"
                             : "there is no such directory",
                       true});
  }
  // A directory and its subdirectories; what does not exist is passed over.
  void add(const fs::path& directory, bool asked_for = false) {
    if (!add_one(directory, asked_for)) return;
    std::error_code error;
    std::vector<fs::path> below;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error))
      if (std::error_code ignored; entry->is_directory(ignored)) below.push_back(entry->path());
    std::sort(below.begin(), below.end());
    for (const fs::path& each : below) add_one(each, asked_for);
  }
  std::vector<Place> take() { return std::move(places_); }

 private:
  // False when there is no such directory, it was seen before, or it is not to be read.
  bool add_one(const fs::path& directory, bool asked_for) {
    struct stat about {};
    if (stat(directory.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) return false;
    if (!seen_.emplace(about.st_dev, about.st_ino).second) return false;
    // Its real path from here on: a link on the way could be turned to another place after it was looked at.
    std::error_code error;
    const fs::path real = fs::canonical(directory, error);
    if (error) return false;
    places_.push_back({real.string(), why_untrusted(real.string()), asked_for});
    return places_.back().refusal.empty();
  }

  std::vector<Place> places_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

bool is_privileged() {
  static const bool privileged = getauxval(AT_SECURE) != 0;
  return privileged;
}
const char* environment(const char* name) { return is_privileged() ? nullptr : std::getenv(name); }

std::string own_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_directory), &info) == 0 ||
      info.dli_fname == nullptr)
    return {};
  std::error_code error;
  const fs::path file = fs::canonical(info.dli_fname, error);
  return error ? std::string() : file.parent_path().string();
}

// Who may replace libtenon need not put a plugin there.
static const struct stat& own_writers() {
  static const struct stat known = [] {
    struct stat about {};
    stat(own_directory().c_str(), &about);
    return about;
  }();
  return known;
}

std::string why_untrusted(const std::string& path) {
  static const std::string own = own_directory() + "/";
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return fmt::format("{}: {}", path, error.message());
  for (fs::path part = real;; part = part.parent_path()) {
    if (part != real && own.starts_with((part / "").native())) return {};  // libtenon's, too
    struct stat about {};
    if (lstat(part.c_str(), &about) != 0)
      return fmt::format("{}: {}", part.native(), std::strerror(errno));
    // In a sticky directory users cannot rename other users' files.
    if (part != real && (about.st_mode & S_ISVTX) != 0) about.st_mode &= ~(S_IWGRP | S_IWOTH);
    if (!verdicts::others_may_write(about, own_writers())) continue;
    const std::string what = (about.st_mode & S_IWOTH) != 0   ? "is world-writable"
                             : (about.st_mode & S_IWGRP) != 0 ? "is writable by its group"
                                                              : "belongs to another user";
    return fmt::format(
        "{} {} (uid {}, gid {}, mode {:o}): others than you and root could put a library there; "
        "take that right away (chmod go-w, chown), or load a library by its path",
        part.native(), what, about.st_uid, about.st_gid, about.st_mode & 07777);
  }
}

std::vector<Place> search_places() {
  Places places;
  if (const char* path = environment("TENON_PLUGIN_PATH")) {
    std::istringstream list(path);
    for (std::string one; std::getline(list, one, ':');)
      if (!one.empty()) places.add_asked_for(one);
  }
  if (const char* data = environment("XDG_DATA_HOME"); data != nullptr && *data == '/')
    places.add(fs::path(data) / "tenon/plugins");
  if (const char* home = environment("HOME"); home != nullptr && *home == '/')
    places.add(fs::path(home) / ".local/lib/tenon/plugins");
  if (const fs::path own = own_directory(); !own.empty()) {
    places.add(own / "tenon/plugins");
    places.add(own / "plugins");
    if (own.filename() == "core") places.add(own.parent_path() / "plugins");  // a build tree
  }
  places.add("/usr/local/lib/tenon/plugins");
  places.add("/usr/lib/tenon/plugins");
  return places.take();
}

}  // namespace tenon::core
