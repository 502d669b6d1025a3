#include "ops/workspace.hpp"

#include <memory>
#include <new>

namespace tenon::cpu {
namespace {
struct Free {
  void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{64}); }
};
}  // namespace

void* workspace(Workspace purpose, size_t bytes) {
  struct Slot {
    std::unique_ptr<void, Free> memory;
    size_t size = 0;
  };
  thread_local Slot slots[static_cast<size_t>(Workspace::kCount)];
  Slot& slot = slots[static_cast<size_t>(purpose)];
  if (bytes > slot.size) {
    slot.size = 0;
    slot.memory.reset();
    slot.memory.reset(::operator new (bytes, std::align_val_t{64}));
    slot.size = bytes;
  }
  return slot.memory.get();
}

}  // namespace tenon::cpu
