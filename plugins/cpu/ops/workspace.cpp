#include "ops/workspace.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace tenon::cpu {
namespace {

// Pages from the system rather than the C library, which may keep what grows out of its place.
class Slot {
 public:
  Slot() = default;
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() { release(); }

  void* hold(size_t bytes) {
    if (bytes <= size_) return memory_;
    release();
    static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t whole = (bytes + page - 1) / page * page;
    if (whole < bytes) throw std::bad_alloc();
    void* const pages =
        mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    size_ = whole;
    return memory_ = pages;
  }

 private:
  void release() {
    if (memory_ != nullptr) munmap(std::exchange(memory_, nullptr), std::exchange(size_, 0));
  }

  void* memory_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

void* workspace(Workspace purpose, size_t bytes) {
  thread_local Slot slots[static_cast<size_t>(Workspace::kCount)];
  return slots[static_cast<size_t>(purpose)].hold(bytes);
}

}  // namespace tenon::cpu
