// Objects that threads take, use and give back.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace tenon::graph {

// Every function may be called by any thread.
template <class T>
class Pool {
 public:
  Pool() = default;
  ~Pool() { delete handy_.load(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // NULL if none is idle.
  std::unique_ptr<T> take() {
    std::unique_ptr<T> taken(handy_.exchange(nullptr, std::memory_order_acquire));
    if (taken != nullptr) return taken;
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    taken = std::move(idle_.back());
    idle_.pop_back();
    return taken;
  }
  void give(std::unique_ptr<T> one) {
    T* none = nullptr;
    if (handy_.compare_exchange_strong(none, one.get(), std::memory_order_release,
                                       std::memory_order_relaxed)) {
      static_cast<void>(one.release());  // handy_ has it
      return;
    }
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(one));
  }

 private:
  std::atomic<T*> handy_{
      nullptr};  // the last that was given back, which the next taker gets without a lock
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace tenon::graph
