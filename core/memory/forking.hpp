// Locks that live for good, and that a child of fork() finds free: the thread that forks takes all of them first.
#pragma once

#include <mutex>

namespace tenon::core {

// Recursive, because a plugin may fork while the core calls it under one.
struct Mutex : std::recursive_mutex {
  Mutex() noexcept;
  Mutex* next = nullptr;
};

}  // namespace tenon::core
