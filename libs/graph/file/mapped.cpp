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
    : InputFile(path, function) {
  if (size() == 0) return;
  void* const data = ::mmap(nullptr, size(), PROT_READ, MAP_PRIVATE, descriptor(), 0);
  if (data == MAP_FAILED) io::detail::fail_system(where(), "cannot be mapped");
  data_ = static_cast<unsigned char*>(data);
  const std::lock_guard lock(g_mutex);
  mapped()[address(data_)] = address(data_) + size();
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  const std::lock_guard lock(g_mutex);
  mapped().erase(address(data_));
  ::munmap(data_, size());
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
