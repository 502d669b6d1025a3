// Copies from host memory without waiting: bytes go through a ring of pinned memory, which the device reads when its stream gets there.
// From pageable memory, a driver would first wait for the stream. Long copies cross the bus on their own stream while the program's stream
// still computes. They land in device memory that mirrors the ring, and the program's stream copies them from there in order.
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
  // Copies from this size on cross on their own stream; for smaller ones, its events cost more than they save.
  static constexpr uint64_t kLong = 128 << 10;

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
    rt::Event read;  // reached once the program's stream has read the piece
  };
  char* take(uint64_t bytes);
  void give_back();  // gives back the oldest piece once it has been read
  bool can_cross();  // opens the stream and its device memory on first use
  void cross(char* staged, uint64_t bytes, void* to, rt::Stream stream);

  const uint32_t device_;
  std::mutex mutex_;
  char* memory_ = nullptr;  // on first use
  uint64_t head_ = 0, tail_ = 0;
  std::deque<Piece> pieces_;
  std::vector<rt::Event> events_;  // that can be used again
  // For long copies: their stream, the event after each of them, and the device memory that mirrors memory_.
  rt::Stream crossing_ = nullptr;
  rt::Event crossed_ = nullptr;
  char* landing_ = nullptr;
  bool is_full_ = false;  // the device had no memory left for it
};

}  // namespace tenon::gpu
