// Reads regular files, and only those, at any position.
#ifndef TENON_IO_DETAIL_FILE_HPP
#define TENON_IO_DETAIL_FILE_HPP

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "tenon/error.hpp"

namespace tenon::io::detail {

// `where` is "[function] path". Every message begins with it.
[[noreturn]] inline void fail_system(const std::string& where, const std::string& what) {
  const int code = errno;
  throw Error(code == ENOENT ? TN_NOT_FOUND : TN_IO,
              where + ": " + what + ": " + std::strerror(code));
}

// A FIFO would block, and opening a device may have effects, so both are refused.
inline void require_regular(const struct stat& info, const std::string& where) {
  const mode_t mode = info.st_mode;
  if (S_ISREG(mode)) return;
  const char* kind = S_ISDIR(mode)    ? "a directory"
                     : S_ISFIFO(mode) ? "a FIFO"
                     : S_ISCHR(mode)  ? "a character device"
                     : S_ISBLK(mode)  ? "a block device"
                     : S_ISSOCK(mode) ? "a socket"
                                      : "of another kind";
  throw Error(TN_IO, where + ": it is " + kind + ", not a regular file");
}

// A path with a zero byte would be cut off there.
inline void require_path(const std::string& path, const std::string& where) {
  if (!path.empty() && path.find('\0') == std::string::npos) return;
  const char* const up_to_zero = where.c_str();
  throw Error(TN_INVALID_ARGUMENT,
              std::string(up_to_zero) + ": a path is at least one byte, none of them zero");
}

// Returns fn(). Failing to get memory becomes an Error like any other.
template <class Fn>
decltype(auto) with_memory_errors(const std::string& where, Fn&& fn) {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    throw Error(TN_OUT_OF_MEMORY, where + ": not enough memory to hold it");
  } catch (const std::length_error&) {
    throw Error(TN_OUT_OF_MEMORY, where + ": more than this machine can address");
  }
}

// An open file. Closes it at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(-1); }
  int get() const { return fd_; }
  void reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

// Bytes that can be read at any position: of a file, or in tests of memory.
class Source {
 public:
  explicit Source(std::string where) : where_(std::move(where)) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual uint64_t size() const = 0;
  // Fewer bytes than asked for only at the end.
  virtual uint64_t read_some(void* destination, uint64_t bytes, uint64_t offset) const = 0;

  const std::string& where() const { return where_; }
  [[noreturn]] void fail(uint64_t byte, const std::string& reason) const {
    throw Error(TN_DATA_LOSS, where_ + ": byte " + std::to_string(byte) + ": " + reason);
  }
  // Reads exactly `bytes`.
  void read(void* destination, uint64_t bytes, uint64_t offset) const {
    const uint64_t n = read_some(destination, bytes, offset);
    if (n != bytes) fail(offset + n, "the file ends here");
  }

 private:
  std::string where_;
};

class InputFile : public Source {
 public:
  InputFile(const std::string& path, const std::string& function)
      : Source("[" + function + "] " + path), fd_(-1) {
    require_path(path, where());
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) fail_system(where(), "cannot be opened");
    require_regular(info, where());
    // The path may have changed since it was checked, so this opens without blocking and checks again.
    fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd_.get() < 0) fail_system(where(), "cannot be opened");
    if (::fstat(fd_.get(), &info) != 0) fail_system(where(), "cannot be examined");
    require_regular(info, where());
    size_ = static_cast<uint64_t>(info.st_size);
  }
  int descriptor() const { return fd_.get(); }
  uint64_t size() const override { return size_; }
  uint64_t read_some(void* destination, uint64_t bytes, uint64_t offset) const override {
    char* to = static_cast<char*>(destination);
    uint64_t done = 0;
    while (done < bytes) {
      const ssize_t n = ::pread(fd_.get(), to + done, std::min<uint64_t>(bytes - done, 1u << 30),
                                static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_system(where(), "cannot be read");
      if (n == 0) break;
      done += static_cast<uint64_t>(n);
    }
    return done;
  }

 private:
  Descriptor fd_;
  uint64_t size_ = 0;
};

}  // namespace tenon::io::detail
#endif
