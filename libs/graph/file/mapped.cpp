#include "file/mapped.hpp"

#include <sys/mman.h>

#include <map>
#include <mutex>

namespace tenon::graph {
namespace {

std::mutex g_mutex;
std::map<uintptr_t, uintptr_t>& mapped() {  // begin, end
  static std::map<uintptr_t, uintptr_t> all;
  return all;
}

uintptr_t address(const void* at) { return reinterpret_cast<uintptr_t>(at); }

}  // namespace

MappedFile::MappedFile(const std::string& path, const std::string& function)
    : Source("[" + function + "] " + path) {
  const io::detail::InputFile checked(path, function);
  struct stat info {};
  fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd_.get() < 0) io::detail::fail_system(where(), "cannot be opened");
  if (::fstat(fd_.get(), &info) != 0) io::detail::fail_system(where(), "cannot be examined");
  io::detail::require_regular(info, where());
  size_ = static_cast<uint64_t>(info.st_size);
  if (size_ == 0) return;
  void* const data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd_.get(), 0);
  if (data == MAP_FAILED) io::detail::fail_system(where(), "cannot be mapped");
  data_ = static_cast<unsigned char*>(data);
  const std::lock_guard lock(g_mutex);
  mapped()[address(data_)] = address(data_) + size_;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  const std::lock_guard lock(g_mutex);
  mapped().erase(address(data_));
  ::munmap(data_, size_);
}

uint64_t MappedFile::read_some(void* destination, uint64_t bytes, uint64_t offset) const {
  char* const to = static_cast<char*>(destination);
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(fd_.get(), to + done, std::min<uint64_t>(bytes - done, 1u << 30),
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) io::detail::fail_system(where(), "cannot be read");
    if (n == 0) break;
    done += static_cast<uint64_t>(n);
  }
  return done;
}

void drop_pages(const void* begin, size_t bytes) {
  const std::lock_guard lock(g_mutex);
  auto& all = mapped();
  auto file = all.upper_bound(address(begin));
  if (file == all.begin() || address(begin) >= (--file)->second) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t from = address(begin) / page * page;
  // Mapped for reading only, so no page can hold anything but what is in the file.
  ::madvise(reinterpret_cast<void*>(from), address(begin) + bytes - from, MADV_DONTNEED);
}

}  // namespace tenon::graph
