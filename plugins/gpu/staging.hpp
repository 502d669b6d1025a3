// Copies from host memory without waiting: bytes go through a ring of pinned memory, which the device reads when its stream gets there.
// From pageable memory, a driver would first wait for the stream.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "runtime.hpp"

namespace tenon::gpu {

// One for each device. [thread-safe]
class Staging {
 public:
  static constexpr uint64_t kBytes = 16 << 20,
                            kPiece = kBytes / 4;  // several pieces are in flight at once

  explicit Staging(uint32_t device) : device_(device) {}
  ~Staging() { close(); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Enqueues the copy; `from` may be reused on return. Waits only if the whole ring is in flight. Throws sdk::Error.
  void copy_in(void* to, const void* from, uint64_t bytes, rt::Stream stream);
  // Frees the memory. No copy may still read it.
  void close() noexcept;

 private:
  struct Piece {
    uint64_t end;    // counted over all rounds
    rt::Event read;  // reached when the device has read it
  };
  char* take(uint64_t bytes);
  void give_back();  // frees the oldest piece once it was read

  const uint32_t device_;
  std::mutex mutex_;
  char* memory_ = nullptr;  // on first use
  uint64_t head_ = 0, tail_ = 0;
  std::deque<Piece> pieces_;
  std::vector<rt::Event> events_;  // free for reuse
};

}  // namespace tenon::gpu
