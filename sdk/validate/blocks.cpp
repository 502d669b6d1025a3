#include "blocks.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tenon::validate {
namespace {

constexpr uint64_t kKeepBytes = 32 << 20;  // kept back, so that late writes show
constexpr size_t kKeepBlocks = 512;

uint64_t g_serial = 1;

// The bytes of a guard repeat every eight bytes.
struct Pattern {
  unsigned char bytes[8];
  explicit Pattern(uint8_t key) {
    for (uint64_t i = 0; i < sizeof bytes; ++i) bytes[i] = guard_byte(key, i);
  }
  void write(void* to, uint64_t count) const {
    auto* out = static_cast<unsigned char*>(to);
    for (uint64_t i = 0; i < count; i += sizeof bytes)
      std::memcpy(out + i, bytes, std::min<uint64_t>(sizeof bytes, count - i));
  }
  // The position of the first byte with another value, or `count`.
  uint64_t first_change(const void* from, uint64_t count) const {
    const auto* in = static_cast<const unsigned char*>(from);
    uint64_t i = 0;
    while (i + sizeof bytes <= count && std::memcmp(in + i, bytes, sizeof bytes) == 0)
      i += sizeof bytes;
    while (i < count && in[i] == bytes[i % sizeof bytes]) ++i;
    return i;
  }
};

std::string describe(const Block& block, std::string_view type) {
  return fmt::format("block {} of {} bytes on {}:{}{}", block.serial, block.bytes, type,
                     block.index, block.op.empty() ? "" : fmt::format(" (output of {})", block.op));
}

}  // namespace

uint64_t next_serial() {
  const std::lock_guard lock(state_mutex());
  return g_serial;
}

uint64_t Blocks::margin() const { return live() < kFarBlocks ? kFarGuard : kNearGuard; }

tn_status* Blocks::adopt(uint32_t index, uint64_t bytes, uint64_t margin, void** buffer,
                         void** address) {
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
  block.front = front(margin);
  block.bytes = bytes;
  block.guard = total(bytes, margin) - block.front - bytes;
  if (addressable) block.address = static_cast<char*>(*address) + block.front;
  block.shown = guarded_before_ ? block.address : block.raw;
  bool twice = false;
  {
    const std::lock_guard lock(state_mutex());
    block.serial = g_serial++;
    block.key = static_cast<uint8_t>(block.serial % kGuardKeys);
    twice = std::any_of(kept_.begin(), kept_.end(),
                        [&](const Block& kept) { return kept.raw == block.raw; }) ||
            !live_.emplace(block.shown, block).second;
  }
  if (twice)
    return refused(TN_VIOLATION_OWNERSHIP,
                   fmt::format("buffer {} was handed out before and is still in use", *buffer));
  fill(block, kFresh);
  guard(block);
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
  const Pattern pattern(block.key);
  if (block.address == nullptr) {
    std::vector<unsigned char> bytes(block.guard);
    pattern.write(bytes.data(), bytes.size());
    return access_.write(block.index, block.raw, block.front + block.bytes, bytes.data(),
                         bytes.size());
  }
  pattern.write(block.address + block.bytes, block.guard);
  pattern.write(block.address - block.front, block.front);
  return true;
}

void Blocks::guard(const Block& block) {
  if (write_guards(block)) return;
  const std::lock_guard lock(state_mutex());
  if (const auto at = live_.find(block.shown); at != live_.end()) at->second.guard = 0;
}

void Blocks::rekey(Block& block, uint8_t key) {
  block.key = key;
  {
    const std::lock_guard lock(state_mutex());
    const auto at = live_.find(block.shown);
    if (at == live_.end() || at->second.guard == 0) return;
    at->second.key = key;
  }
  guard(block);
}

void Blocks::check_guards(const Block& block) {
  const Pattern pattern(block.key);
  std::vector<unsigned char> copy;
  const void* behind = nullptr;
  uint64_t before_at = block.front;
  if (block.address != nullptr) {
    behind = block.address + block.bytes;
    before_at = pattern.first_change(block.address - block.front, block.front);
  } else {
    copy.resize(block.guard);
    behind = copy.data();
    if (!access_.read(block.index, block.raw, block.front + block.bytes, copy.data(), copy.size()))
      return;
  }
  const uint64_t behind_at = pattern.first_change(behind, block.guard);
  if (before_at != block.front)
    found(TN_VIOLATION_MEMORY, fmt::format("{} bytes before the start of {} were written",
                                           block.front - before_at, describe(block, type_)));
  if (behind_at != block.guard)
    found(TN_VIOLATION_MEMORY, fmt::format("byte {} behind the end of {} was written", behind_at,
                                           describe(block, type_)));
  if (before_at != block.front || behind_at != block.guard) write_guards(block);
}

void Blocks::let_go(const Block& block) {
  const uint64_t at = block.address == nullptr
                          ? block.bytes
                          : Pattern(block.key).first_change(block.address, block.bytes);
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
  Pattern(block.key).write(block.address, block.bytes);
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
