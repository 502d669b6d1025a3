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

bool Staging::can_cross() {
  if (landing_ != nullptr || is_full_) return landing_ != nullptr;
  if (crossing_ == nullptr) crossing_ = rt::stream_create();
  if (crossed_ == nullptr) crossed_ = rt::event_create();
  landing_ = static_cast<char*>(rt::allocate(kBytes));
  is_full_ = landing_ == nullptr;
  return !is_full_;
}

// Earlier work of `stream` may still use the target. Nothing uses the landing: take() waited until its last piece was read.
void Staging::cross(char* staged, uint64_t bytes, void* to, rt::Stream stream) {
  char* const landed = landing_ + (staged - memory_);
  rt::copy_in(landed, staged, bytes, crossing_);
  rt::record(crossed_, crossing_);
  rt::wait(stream, crossed_);
  rt::copy_within(to, landed, bytes, stream);
}

void Staging::copy_in(void* to, const void* from, uint64_t bytes, rt::Stream stream) {
  const std::lock_guard lock(mutex_);
  const bool crosses = bytes >= kLong && can_cross();
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t piece = std::min(bytes - done, kPiece);
    char* const staged = take(piece);
    std::memcpy(staged, static_cast<const char*>(from) + done, piece);
    if (events_.empty()) events_.push_back(rt::event_create());
    char* const target = static_cast<char*>(to) + done;
    crosses ? cross(staged, piece, target, stream) : rt::copy_in(target, staged, piece, stream);
    rt::record(events_.back(), stream);
    pieces_.push_back({head_, events_.back()});
    events_.pop_back();
    done += piece;
  }
}

void Staging::close() noexcept {
  for (const Piece& piece : pieces_) events_.push_back(piece.read);
  for (const rt::Event event : events_) rt::event_destroy(event);
  if (crossed_ != nullptr) rt::event_destroy(crossed_);
  if (crossing_ != nullptr) rt::stream_destroy(crossing_);
  if (landing_ != nullptr) rt::free(landing_);
  if (memory_ != nullptr) rt::host_free(memory_);
  pieces_.clear(), events_.clear();
  memory_ = landing_ = nullptr;
  crossed_ = crossing_ = nullptr;
}

}  // namespace tenon::gpu
