#include "cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "plugin/verdicts.hpp"

namespace tenon::probe {
namespace {

constexpr size_t kMostFiles = 512;  // some 2 MB

// Creates parents too. Root creates none below another user's directory, because that user could not use it.
void make(const std::string& directory) {
  struct stat about {};
  if (directory.size() < 2 || stat(directory.c_str(), &about) == 0) return;
  const std::string parent = directory.substr(0, directory.rfind('/'));
  make(parent);
  if (geteuid() == 0 && stat(parent.c_str(), &about) == 0 && about.st_uid != 0) return;
  mkdir(directory.c_str(), 0700);
}

}  // namespace

Cache::Cache(const std::string& directory) {
  if (directory.empty()) return;
  make(directory);
  folder_ = verdicts::open_directory(directory);
}

Cache::~Cache() {
  if (folder_ >= 0) close(folder_);
}

std::string Cache::read(const std::string& name) const {
  return verdicts::read_file(folder_, name);
}

void Cache::write(const std::string& name, const std::string& text) const {
  if (folder_ < 0) return;
  const std::string draft = ".new-" + std::to_string(getpid());
  unlinkat(folder_, draft.c_str(), 0);
  const int file =
      openat(folder_, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return;
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(file) != 0 || !whole || renameat(folder_, draft.c_str(), folder_, name.c_str()) != 0)
    unlinkat(folder_, draft.c_str(), 0);
}

void Cache::prune() const {
  DIR* const entries =
      folder_ < 0 ? nullptr : fdopendir(openat(folder_, ".", O_RDONLY | O_CLOEXEC));
  if (entries == nullptr) return;
  std::vector<std::pair<time_t, std::string>> files;
  while (const dirent* entry = readdir(entries)) {
    struct stat about {};
    if (fstatat(folder_, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode))
      files.emplace_back(about.st_mtime, entry->d_name);
  }
  closedir(entries);
  if (files.size() <= kMostFiles) return;
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i < files.size() - kMostFiles / 2; ++i)
    unlinkat(folder_, files[i].second.c_str(), 0);
}

}  // namespace tenon::probe
