#include "guarded.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace tenon::fuzz {
namespace {

constexpr unsigned char kFiller = 0xA5;

size_t page() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

bool is_filler(const char* from, const char* to) {
  return std::all_of(from, to, [](char c) { return static_cast<unsigned char>(c) == kFiller; });
}

}  // namespace

Guarded::Guarded(size_t bytes, At at, size_t shift)
    : inner_(std::max(page(), (bytes + shift + page() - 1) / page() * page())), bytes_(bytes) {
  void* memory = mmap(nullptr, inner_ + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  pages_ = static_cast<char*>(memory);
  char* inner = pages_ + page();
  if (mprotect(inner, inner_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  std::memset(inner, kFiller, inner_);
  // At the end, shifted memory stops `shift` bytes before the forbidden page.
  data_ = at == At::Start ? inner + shift : inner + inner_ - bytes - shift;
}

Guarded::~Guarded() { munmap(pages_, inner_ + 2 * page()); }

void Guarded::seal() { mprotect(pages_ + page(), inner_, PROT_READ); }

bool Guarded::intact() const {
  const char* inner = pages_ + page();
  return is_filler(inner, data_) && is_filler(data_ + bytes_, inner + inner_);
}

}  // namespace tenon::fuzz
