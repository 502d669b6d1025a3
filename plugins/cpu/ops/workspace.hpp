// Memory that a thread keeps between calls, for packed copies of operands.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cpu {

enum class Workspace { Gemm, Columns, Packed, Sums, Weights, Attention, Fused, kCount };

// At least `bytes`, 64-byte aligned, valid until the next call on this thread for the same
// purpose. Throws std::bad_alloc.
void* workspace(Workspace purpose, size_t bytes);

// Of `count` elements.
template <class T>
T* workspace(Workspace purpose, int64_t count) {
  return static_cast<T*>(workspace(purpose, static_cast<size_t>(count) * sizeof(T)));
}

// Handed out from one piece of this memory, or another,: parts of their own cache lines.
class Room {
 public:
  explicit Room(void* memory) : next_(static_cast<char*>(memory)) {}
  Room(Workspace purpose, size_t bytes) : next_(static_cast<char*>(workspace(purpose, bytes))) {}
  template <class T>
  T* take(int64_t count) {
    T* const here = reinterpret_cast<T*>(next_);
    next_ += bytes_of<T>(count);
    return here;
  }
  template <class T>
  static constexpr size_t bytes_of(int64_t count) {
    return (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
  }

 private:
  char* next_;
};

}  // namespace tenon::cpu
