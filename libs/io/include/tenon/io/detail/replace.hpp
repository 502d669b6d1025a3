// Replaces a file as a whole, or not at all.
#ifndef TENON_IO_DETAIL_REPLACE_HPP
#define TENON_IO_DETAIL_REPLACE_HPP

#include <limits.h>
#include <stdio.h>
#include <sys/random.h>

#include "tenon/io/detail/file.hpp"

namespace tenon::io::detail {

// Writes to a nameless file, to which commit() gives the name. If the process dies before, nothing is left behind. If the file system has
// no nameless files, a file .tenon-* beside it is used.
class ReplacedFile {
 public:
  ReplacedFile(const std::string& path, const std::string& function, bool may_lack_a_name = true)
      : where_("[" + function + "] " + path), fd_(-1) {
    require_path(path, where_);
    struct stat old {};
    const bool exists = ::stat(path.c_str(), &old) == 0;
    if (exists) require_regular(old, where_);
    path_ = follow_links(path);
    struct stat found {};
    if (exists && (::stat(path_.c_str(), &found) != 0 || found.st_ino != old.st_ino ||
                   found.st_dev != old.st_dev))
      throw Error(TN_IO, where_ + ": it leads to a file that has no name to replace");
    replaces_ = exists;
    open(may_lack_a_name);
    // Called before others can read the first byte.
    if (exists && ::fchmod(fd_.get(), old.st_mode & 07777) != 0)
      fail_system(where_, "its mode cannot be kept");
  }
  ~ReplacedFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;

  const std::string& where() const { return where_; }
  void write(const void* source, uint64_t bytes) {
    const char* from = static_cast<const char*>(source);
    while (bytes > 0) {
      const ssize_t n = ::write(fd_.get(), from, std::min<uint64_t>(bytes, 1u << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_system(where_, "cannot be written");
      from += n;
      bytes -= static_cast<uint64_t>(n);
    }
  }

  // First the content goes to disk, then the file gets its name, then the name goes to disk.
  void commit() {
    if (::fsync(fd_.get()) != 0) fail_system(where_, "cannot be flushed");
    take_the_place();
    const Descriptor folder(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // A directory that is writable but not listable cannot be opened, and some file systems cannot sync one.
    if (folder.get() >= 0 && ::fsync(folder.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
      fail_system(where_, "its folder cannot be flushed");
  }

 private:
  static std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  }
  // The path with links resolved. The target need not exist yet.
  std::string follow_links(std::string path) const {
    for (int links = 0; links < 40; ++links) {
      char to[PATH_MAX];
      const ssize_t n = ::readlink(path.c_str(), to, sizeof to);
      if (n < 0) return path;
      std::string target(to, static_cast<size_t>(n));
      path = target.starts_with('/') ? target : folder_of(path).append("/").append(target);
    }
    errno = ELOOP;
    fail_system(where_, "cannot be opened");
  }
  // An unused name beside the file.
  std::string fresh_name() const {
    uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number)
      fail_system(where_, "no name for a temporary file");
    return folder_of(path_) + "/.tenon-" + std::to_string(number);
  }
  // In both cases the umask decides who may read the file, as for any new one.
  void open(bool may_lack_a_name) {
    if (may_lack_a_name && ::access("/proc/self/fd", X_OK) == 0)
      fd_.reset(::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
    while (fd_.get() < 0) {
      const std::string name = fresh_name();
      fd_.reset(::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
      if (fd_.get() >= 0) name_ = name;
      if (fd_.get() < 0 && errno != EEXIST) fail_system(where_, "cannot be made");
    }
  }
  bool link_to(const std::string& name) const {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return true;
    if (errno != EEXIST) fail_system(where_, "cannot be given its name");
    return false;
  }
  void take_the_place() {
    if (name_.empty()) {
      if (!replaces_ && link_to(path_)) return;
      // Only a rename replaces a file, so from here to the next call the file needs a name.
      std::string name = fresh_name();
      while (!link_to(name)) name = fresh_name();
      name_ = name;
    }
    if (::rename(name_.c_str(), path_.c_str()) != 0) fail_system(where_, "cannot be replaced");
    name_.clear();
  }

  std::string where_, path_, name_;  // name_: of the temporary file, while it has one
  Descriptor fd_;
  bool replaces_ = false;
};

}  // namespace tenon::io::detail
#endif
