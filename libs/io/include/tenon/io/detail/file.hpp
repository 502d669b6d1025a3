// Files by descriptor: reading at an offset, and writing that replaces a file at once or not at
// all.
#ifndef TENON_IO_DETAIL_FILE_HPP
#define TENON_IO_DETAIL_FILE_HPP

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tenon/error.hpp"

namespace tenon::io::detail {

[[noreturn]] inline void fail_system(const std::string& what, const std::string& path) {
  throw Error(errno == ENOENT ? TN_NOT_FOUND : TN_IO,
              "[io] " + path + ": " + what + ": " + std::strerror(errno));
}

// An open file, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class InputFile {
 public:
  explicit InputFile(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_.get() < 0) fail_system("cannot be opened", path_);
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) fail_system("cannot be examined", path_);
    if (!S_ISREG(info.st_mode)) throw Error(TN_IO, "[io] " + path_ + ": not a regular file");
    size_ = static_cast<uint64_t>(info.st_size);
  }
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // Reads exactly `bytes` at `offset`.
  void read(void* destination, uint64_t bytes, uint64_t offset) const {
    char* to = static_cast<char*>(destination);
    while (bytes > 0) {
      const ssize_t n =
          ::pread(fd_.get(), to, std::min<uint64_t>(bytes, 1u << 30), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_system("cannot be read", path_);
      if (n == 0)
        throw Error(TN_DATA_LOSS,
                    "[io] " + path_ + ": byte " + std::to_string(offset) + ": the file ends here");
      to += n;
      bytes -= static_cast<uint64_t>(n);
      offset += static_cast<uint64_t>(n);
    }
  }

 private:
  std::string path_;
  Descriptor fd_;
  uint64_t size_ = 0;
};

// Writes into a temporary file beside `path`; commit() puts it in its place. Without it nothing
// stays.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path)
      : path_(path), temporary_(path + ".XXXXXX"), fd_(make(temporary_)) {
    if (fd_.get() < 0) fail_system("no temporary file can be made beside it", path_);
  }
  ~AtomicFile() {
    if (!committed_) ::unlink(temporary_.c_str());
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* source, uint64_t bytes) {
    const char* from = static_cast<const char*>(source);
    while (bytes > 0) {
      const ssize_t n = ::write(fd_.get(), from, std::min<uint64_t>(bytes, 1u << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_system("cannot be written", temporary_);
      from += n;
      bytes -= static_cast<uint64_t>(n);
    }
  }

  // On disk first, then under its name, then the name on disk.
  void commit() {
    if (::fchmod(fd_.get(), mode()) != 0) fail_system("its mode cannot be set", temporary_);
    if (::fsync(fd_.get()) != 0) fail_system("cannot be flushed", temporary_);
    if (::close(fd_.release()) != 0) fail_system("cannot be closed", temporary_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_system("cannot be replaced", path_);
    committed_ = true;
    const size_t slash = path_.rfind('/');
    const std::string directory =
        slash == std::string::npos ? "." : path_.substr(0, std::max<size_t>(slash, 1));
    const Descriptor dir(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (dir.get() < 0) fail_system("cannot be opened", directory);
    // Some file systems have no fsync for directories; the data itself is safe by then.
    if (::fsync(dir.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
      fail_system("cannot be flushed", directory);
  }

 private:
  static int make(std::string& name) { return ::mkostemp(name.data(), O_CLOEXEC); }
  // That of the file it replaces, or what the user's mask allows.
  mode_t mode() const {
    struct stat info {};
    if (::stat(path_.c_str(), &info) == 0) return info.st_mode & 07777;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
  }
  std::string path_, temporary_;
  Descriptor fd_;
  bool committed_ = false;
};

}  // namespace tenon::io::detail
#endif
