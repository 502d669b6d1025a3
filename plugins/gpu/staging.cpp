#include "staging.hpp"

#include <algorithm>
#include <cstring>

#include "timeline.hpp"

namespace tenon::gpu {

void Staging::give_back() {
  const Piece oldest = pieces_.front();
  wait_for_event(device_, oldest.read);
  tail_ = oldest.end;
  events_.push_back(oldest.read);
  pieces_.pop_front();
}

// Finds `bytes` of contiguous memory, aligned to 256.
char* Staging::take(uint64_t bytes) {
  if (memory_ == nullptr) memory_ = static_cast<char*>(rt::host_allocate(kBytes));
  uint64_t begin = (head_ + 255) / 256 * 256;
  if (begin % kBytes + bytes > kBytes) begin = (begin / kBytes + 1) * kBytes;
  while (!pieces_.empty() && begin + bytes - tail_ > kBytes) give_back();
  while (!pieces_.empty() && rt::reached(pieces_.front().read)) give_back();
  if (pieces_.empty()) tail_ = begin;
  head_ = begin + bytes;
  return memory_ + begin % kBytes;
}

void Staging::copy_in(void* to, const void* from, uint64_t bytes, rt::Stream stream) {
  const std::lock_guard lock(mutex_);
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t piece = std::min(bytes - done, kPiece);
    char* const staged = take(piece);
    std::memcpy(staged, static_cast<const char*>(from) + done, piece);
    if (events_.empty()) events_.push_back(rt::event_create());
    rt::copy_in(static_cast<char*>(to) + done, staged, piece, stream);
    rt::record(events_.back(), stream);
    pieces_.push_back({head_, events_.back()});
    events_.pop_back();
    done += piece;
  }
}

void Staging::close() noexcept {
  for (const Piece& piece : pieces_) events_.push_back(piece.read);
  for (const rt::Event event : events_) rt::event_destroy(event);
  if (memory_ != nullptr) rt::host_free(memory_);
  pieces_.clear(), events_.clear();
  memory_ = nullptr;
}

}  // namespace tenon::gpu
