#include "blocks.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tenon::validate {
namespace {

constexpr uint64_t kKeepBytes = 32 << 20;  // given back late, so that late writes show
constexpr size_t kKeepBlocks = 512;

uint64_t g_serial = 1;

// The first byte that is not as `expected` says, or `count`.
template <class Expected>
uint64_t first_change(const unsigned char* bytes, uint64_t count, Expected&& expected) {
  for (uint64_t i = 0; i < count; ++i)
    if (bytes[i] != expected(i)) return i;
  return count;
}

std::string describe(const Block& block, std::string_view type) {
  return fmt::format("block {} of {} bytes on {}:{}{}", block.serial, block.bytes, type,
                     block.index, block.op.empty() ? "" : fmt::format(" (output of {})", block.op));
}

}  // namespace

uint64_t next_serial() {
  const std::lock_guard lock(state_mutex());
  return g_serial;
}

tn_status* Blocks::adopt(uint32_t index, uint64_t bytes, void** buffer, void** address) {
  if (*buffer == nullptr)
    return refused(TN_VIOLATION_RESULT, "success without a buffer; *buffer must be a handle");
  const bool addressable = access_.addressable();
  if (addressable && *address == nullptr) {
    access_.release(index, *buffer);
    return refused(TN_VIOLATION_RESULT,
                   "no address, though the memory table says TN_MEMORY_ADDRESSABLE");
  }
  if (reinterpret_cast<uintptr_t>(*address) % 64 != 0)
    found(TN_VIOLATION_RESULT,
          fmt::format("address {} is not 64-byte aligned", static_cast<const void*>(*address)));
  Block block;
  block.index = index;
  block.raw = *buffer;
  block.front = front();
  block.bytes = bytes;
  block.guard = total(bytes) - block.front - bytes;
  if (addressable) block.address = static_cast<char*>(*address) + block.front;
  block.shown = guarded_before_ ? block.address : block.raw;
  bool twice = false;
  {
    const std::lock_guard lock(state_mutex());
    block.serial = g_serial++;
    twice = std::any_of(kept_.begin(), kept_.end(),
                        [&](const Block& kept) { return kept.raw == block.raw; }) ||
            !live_.emplace(block.shown, block).second;
  }
  if (twice)
    return refused(TN_VIOLATION_OWNERSHIP,
                   fmt::format("buffer {} was handed out before and is still in use", *buffer));
  fill(block, kFresh);
  if (!write_guards(block)) {
    const std::lock_guard lock(state_mutex());
    live_[block.shown].guard = 0;
  }
  *buffer = block.shown;
  if (addressable) *address = block.address;
  return nullptr;
}

void Blocks::fill(const Block& block, unsigned char byte) {
  if (block.address != nullptr) {
    std::memset(block.address, byte, block.bytes);
    return;
  }
  const std::vector<unsigned char> bytes(block.bytes, byte);
  access_.write(block.index, block.raw, block.front, bytes.data(), bytes.size());
}

bool Blocks::write_guards(const Block& block) {
  unsigned char bytes[2 * kGuardBytes];
  for (uint64_t i = 0; i < block.guard; ++i) bytes[i] = guard_byte(i);
  if (block.address == nullptr) {
    return access_.write(block.index, block.raw, block.front + block.bytes, bytes, block.guard);
  }
  std::memcpy(block.address + block.bytes, bytes, block.guard);
  for (uint64_t i = 0; i < block.front; ++i)
    block.address[-static_cast<int64_t>(block.front) + static_cast<int64_t>(i)] =
        static_cast<char>(guard_byte(i));
  return true;
}

void Blocks::check_guards(const Block& block) {
  unsigned char bytes[2 * kGuardBytes];
  const unsigned char* behind = bytes;
  uint64_t before_at = block.front;
  if (block.address != nullptr) {
    const auto* first = reinterpret_cast<const unsigned char*>(block.address);
    behind = first + block.bytes;
    before_at = first_change(first - block.front, block.front, guard_byte);
  } else if (!access_.read(block.index, block.raw, block.front + block.bytes, bytes, block.guard)) {
    return;
  }
  const uint64_t behind_at = first_change(behind, block.guard, guard_byte);
  if (before_at != block.front)
    found(TN_VIOLATION_MEMORY, fmt::format("{} bytes before the start of {} were written",
                                           block.front - before_at, describe(block, type_)));
  if (behind_at != block.guard)
    found(TN_VIOLATION_MEMORY, fmt::format("byte {} behind the end of {} was written", behind_at,
                                           describe(block, type_)));
  if (before_at != block.front || behind_at != block.guard) write_guards(block);
}

void Blocks::let_go(const Block& block) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(block.address);
  const uint64_t at =
      block.address == nullptr ? block.bytes : first_change(bytes, block.bytes, guard_byte);
  if (at != block.bytes)
    found(TN_VIOLATION_MEMORY,
          fmt::format("byte {} of {} was written after its free", at, describe(block, type_)));
  access_.release(block.index, block.raw);
}

void Blocks::give_back(uint32_t index, void* shown) {
  Block block;
  {
    const std::lock_guard lock(state_mutex());
    const auto at = live_.find(shown);
    if (at != live_.end()) {
      block = at->second;
      live_.erase(at);
    }
  }
  if (block.shown == nullptr) {
    found(TN_VIOLATION_OWNERSHIP,
          fmt::format("buffer {} is {}", shown,
                      is_gone(shown) ? "given back twice" : "none that was handed out"));
    return;
  }
  if (block.index != index)
    found(TN_VIOLATION_ARGUMENT, fmt::format("device {} for {}", index, describe(block, type_)));
  check_guards(block);
  if (block.address == nullptr || block.bytes > kKeepBytes / 8)
    return access_.release(block.index, block.raw);
  for (uint64_t i = 0; i < block.bytes; ++i) block.address[i] = static_cast<char>(guard_byte(i));
  std::vector<Block> old;
  {
    const std::lock_guard lock(state_mutex());
    kept_.push_back(block);
    kept_bytes_ += block.bytes;
    while (kept_bytes_ > kKeepBytes || kept_.size() > kKeepBlocks) {
      old.push_back(kept_.front());
      kept_bytes_ -= kept_.front().bytes;
      kept_.pop_front();
    }
  }
  for (const Block& each : old) let_go(each);
}

bool Blocks::flush() {
  std::deque<Block> old;
  {
    const std::lock_guard lock(state_mutex());
    old.swap(kept_);
    kept_bytes_ = 0;
  }
  for (const Block& each : old) let_go(each);
  return !old.empty();
}

bool Blocks::find(const void* shown, Block& out) const {
  const std::lock_guard lock(state_mutex());
  const auto at = live_.find(shown);
  if (at == live_.end()) return false;
  out = at->second;
  return true;
}

void Blocks::name(const void* shown, std::string_view op) {
  const std::lock_guard lock(state_mutex());
  if (const auto at = live_.find(shown); at != live_.end() && at->second.op.empty())
    at->second.op = op;
}

bool Blocks::is_gone(const void* shown) const {
  const std::lock_guard lock(state_mutex());
  return std::any_of(kept_.begin(), kept_.end(),
                     [&](const Block& block) { return block.shown == shown; });
}

void Blocks::each(uint64_t since, void (*visit)(void* ctx, const tn_live_block* block),
                  void* ctx) const {
  const std::lock_guard lock(state_mutex());
  std::vector<const Block*> sorted;
  for (const auto& [handle, block] : live_)
    if (block.serial >= since) sorted.push_back(&block);
  std::sort(sorted.begin(), sorted.end(),
            [](const Block* a, const Block* b) { return a->serial < b->serial; });
  for (const Block* block : sorted) {
    const tn_live_block live = {sizeof(tn_live_block), block->index, to_str(type_),
                                to_str(block->op),     block->bytes, block->serial};
    visit(ctx, &live);
  }
}

uint64_t Blocks::live() const {
  const std::lock_guard lock(state_mutex());
  return live_.size();
}

}  // namespace tenon::validate
