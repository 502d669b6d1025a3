// Copies from the host's memory that wait for nothing: bytes go through pinned memory that is used round and round, and the device reads
// them when its stream comes to it. From memory that is not pinned a driver would first wait for the stream.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "runtime.hpp"

namespace tenon::gpu {

// Of one device. [thread-safe]
class Staging {
 public:
  static constexpr uint64_t kBytes = 16 << 20,
                            kPiece = kBytes / 4;  // several pieces are on their way

  explicit Staging(uint32_t device) : device_(device) {}
  ~Staging() { close(); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Enqueued; `from` may be reused when it returns. Waits only where all of the memory is on its way. Throws sdk::Error.
  void copy_in(void* to, const void* from, uint64_t bytes, rt::Stream stream);
  // Gives the memory back, which no copy reads any more.
  void close() noexcept;

 private:
  struct Piece {
    uint64_t end;    // of it, counted over all rounds
    rt::Event read;  // reached when the device has it
  };
  char* take(uint64_t bytes);
  void give_back();  // the oldest piece, when it was read

  const uint32_t device_;
  std::mutex mutex_;
  char* memory_ = nullptr;  // on first use
  uint64_t head_ = 0, tail_ = 0;
  std::deque<Piece> pieces_;
  std::vector<rt::Event> events_;  // that can be used again
};

}  // namespace tenon::gpu
