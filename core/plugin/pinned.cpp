#include "plugin/pinned.hpp"

#include <dlfcn.h>
#include <sha2.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "forever.hpp"
#include "plugin/probe.hpp"
#include "plugin/verdicts.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

struct Mapped {
  std::string key, content;
};
// The loader's lock must be held.
std::map<void*, Mapped>& mapped() { return forever<std::map<void*, Mapped>>(); }

// Changes when the file is written to, and not when it loses its name.
std::string content_of(int descriptor) {
  struct stat about {};
  if (fstat(descriptor, &about) != 0) return {};
  return fmt::format("{} {}.{}", about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

// Another text for the same file with each number. By a text that it has seen the dynamic linker takes the file that it found
// there then, whatever lies there now.
std::string spelled(const std::string& path, uint64_t number) {
  const size_t name = path.rfind('/') + 1;
  std::string text = path.substr(0, name);
  for (; number != 0; number /= 2) text += number % 2 != 0 ? ".//" : "./";
  return text + path.substr(name);
}

// Whether the dynamic linker knows the open file as `handle`: it compares inodes. Without /proc it cannot be asked.
bool is_loaded_as(int descriptor, void* handle) {
  static uint64_t asked = 0;
  if (access("/proc/self/fd", X_OK) != 0) return true;
  const std::string file = "/proc/self/fd/" + std::to_string(descriptor);
  void* const known = dlopen(spelled(file, ++asked).c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (known != nullptr) dlclose(known);
  return known == handle;
}

}  // namespace

// Beyond the descriptors that a child process is given.
Pinned::Pinned(const std::string& path) : path_(path) {
  const int file =
      is_probe() ? verdicts::kLibrary : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  descriptor_ = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, verdicts::kLibrary + 1);
  if (file >= 0 && !is_probe()) close(file);
  struct stat about {};
  if (descriptor_ < 0 || fstat(descriptor_, &about) != 0) {
    const int error = errno;
    if (descriptor_ >= 0) close(descriptor_);
    fail(error == ENOENT ? TN_NOT_FOUND : TN_IO, "{}", std::strerror(error));
  }
  if (!S_ISREG(about.st_mode)) {
    close(descriptor_);
    fail(TN_INVALID_ARGUMENT, "{}not a regular file",
         S_ISDIR(about.st_mode) ? "is a directory, " : "");
  }
  size_ = static_cast<uint64_t>(about.st_size);
  key_ = verdicts::key_of(about);
}

Pinned::~Pinned() { close(descriptor_); }

std::string Pinned::sha256() const {
  SHA2_CTX context;
  SHA256Init(&context);
  unsigned char buffer[1 << 16];
  off_t at = 0;
  for (ssize_t bytes; (bytes = pread(descriptor_, buffer, sizeof buffer, at)) != 0; at += bytes) {
    if (bytes < 0) fail(TN_IO, "cannot be read: {}", std::strerror(errno));
    SHA256Update(&context, buffer, static_cast<size_t>(bytes));
  }
  char hex[SHA256_DIGEST_STRING_LENGTH];
  return SHA256End(&context, hex);
}

bool Pinned::stands() const {
  struct stat ours {
  }, there{};
  return fstat(descriptor_, &ours) == 0 && stat(path_.c_str(), &there) == 0 &&
         verdicts::key_of(ours) == key_ && verdicts::key_of(there) == key_;
}

void* Pinned::load() const {
  static auto& opened = *new std::map<std::string, uint64_t>;  // how often, by path
  for (const auto& [handle, known] : mapped())
    if (known.key == key_) return handle;
  const std::string content = content_of(descriptor_);
  uint64_t& times = opened[path_];
  const std::string text = spelled(path_, times);
  if (!stands()) fail(TN_DATA_LOSS, "was replaced while it was being loaded");
  void* const handle = dlopen(text.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(TN_IO, "cannot be opened: {}", dlerror());
  ++times;
  if (!is_loaded_as(descriptor_, handle) || content_of(descriptor_) != content) {
    dlclose(handle);
    fail(TN_DATA_LOSS, "was replaced while it was being loaded");
  }
  const auto [place, is_new] = mapped().try_emplace(handle, Mapped{key_, content});
  if (!is_new && place->second.content != content)
    fail(TN_DATA_LOSS,
         "was overwritten while this process has it open: start the process again, and replace "
         "libraries by renaming a new file over them");
  return handle;
}

}  // namespace tenon::core
