#include "ops/workspace.hpp"

#include <memory>
#include <new>

namespace tenon::cpu {
namespace {
struct Free {
  void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{64}); }
};
}  // namespace

void* workspace(size_t bytes) {
  thread_local std::unique_ptr<void, Free> memory;
  thread_local size_t size = 0;
  if (bytes > size) {
    memory.reset();
    size = 0;
    memory.reset(::operator new (bytes, std::align_val_t{64}));
    size = bytes;
  }
  return memory.get();
}

}  // namespace tenon::cpu
