#include "cache_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tenon {
namespace {

// Precedes the data: nobody must see data that was cut off, changed, or made for another.
struct Header {
  char magic[8];
  uint64_t bytes;
  uint64_t hash;  // of the file's name and the data
};
constexpr char kMagic[8] = {'T', 'N', 'C', 'A', 'C', 'H', 'E', '1'};
constexpr off_t kMostBytes = off_t{1} << 30;

// FNV-1a, 64 bits (Fowler, Noll, Vo).
uint64_t fnv1a(std::string_view data, uint64_t hash = 14695981039346656037u) {
  for (const char c : data) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

Header header_of(std::string_view name, std::string_view data) {
  Header header{{}, data.size(), fnv1a(data, fnv1a(name))};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  return header;
}

// The same rule as in the core's cache of verdicts (core/plugin/verdicts.hpp), which a plugin cannot include.
bool is_ours(int descriptor, mode_t kind, struct stat& about) {
  return fstat(descriptor, &about) == 0 && (about.st_mode & S_IFMT) == kind &&
         (about.st_uid == geteuid() || about.st_uid == 0) &&
         (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Closes a descriptor at the end of its scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

bool write_all(int file, std::string_view data) {
  while (!data.empty()) {
    const ssize_t bytes = ::write(file, data.data(), data.size());
    if (bytes <= 0) return false;
    data.remove_prefix(static_cast<size_t>(bytes));
  }
  return true;
}

}  // namespace

// -1 if there is none, or if others could write there.
int CacheFile::open_folder() const {
  if (folder_.empty()) return -1;
  const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat about {};
  if (folder < 0 || is_ours(folder, S_IFDIR, about)) return folder;
  close(folder);
  return -1;
}

std::string CacheFile::read() const {
  const Descriptor folder{open_folder()};
  if (folder.value < 0) return {};
  const Descriptor file{
      openat(folder.value, name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  struct stat about {};
  if (file.value < 0 || !is_ours(file.value, S_IFREG, about)) return {};
  if (about.st_size < static_cast<off_t>(sizeof(Header)) || about.st_size > kMostBytes) return {};
  std::string text(static_cast<size_t>(about.st_size), '\0');
  size_t known = 0;
  for (ssize_t bytes = 1; bytes > 0 && known < text.size(); known += static_cast<size_t>(bytes)) {
    bytes = ::read(file.value, text.data() + known, text.size() - known);
    if (bytes < 0) return {};
  }
  const std::string data = text.substr(sizeof(Header));
  const Header wanted = header_of(name_, data);
  return std::memcmp(text.data(), &wanted, sizeof wanted) == 0 ? data : std::string();
}

// Writes a file beside it and renames that, so a reader sees either the old or the new one.
void CacheFile::write(std::string_view data) const {
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(folder_).parent_path(), ignored);
  mkdir(folder_.c_str(), 0700);
  const Descriptor folder{open_folder()};
  if (folder.value < 0) return;
  const std::string draft = name_ + "." + std::to_string(getpid());
  unlinkat(folder.value, draft.c_str(), 0);
  bool whole = false;
  {
    const Descriptor file{openat(folder.value, draft.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (file.value < 0) return;
    const Header header = header_of(name_, data);
    whole = write_all(file.value, {reinterpret_cast<const char*>(&header), sizeof header}) &&
            write_all(file.value, data);
  }
  if (!whole || renameat(folder.value, draft.c_str(), folder.value, name_.c_str()) != 0)
    unlinkat(folder.value, draft.c_str(), 0);
}

std::string cache_directory(const char* name) {
  const auto variable = [](const char* which) {
    const char* const value = secure_getenv(which);
    return std::string(value != nullptr ? value : "");
  };
  if (const std::string base = variable("XDG_CACHE_HOME"); base.starts_with('/'))
    return base + "/tenon/" + name;
  if (const std::string home = variable("HOME"); home.starts_with('/'))
    return home + "/.cache/tenon/" + name;
  return {};
}

}  // namespace tenon
