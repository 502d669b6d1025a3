// Blocks of device memory: guarded after the end (on the host also before the start), poisoned when fresh, kept for a while once freed.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "state.hpp"

namespace tenon::validate {

// Every float that these bytes form, at any width, is a NaN, so that a stray read shows.
constexpr unsigned char kFresh = 0xff;   // memory not yet written
constexpr unsigned char kSecond = 0xcb;  // for a second look at an output that seems unwritten
// Guards hold NaNs of 16 or more bits that differ from block to block, so that a copy of a neighbour's guard shows.
constexpr uint8_t kGuardKeys = 126;
inline unsigned char guard_byte(uint8_t key, uint64_t at) {
  if (at % 2 == 1) return 0x7f;
  return at % 8 == 6 ? 0xff : static_cast<unsigned char>(0x81 + key);
}
// An index that is off by a row of 4096 floats lands in this guard.
constexpr uint64_t kFarGuard = 20 << 10;
constexpr uint64_t kNearGuard = 64;  // for blocks beyond the first kFarBlocks, to save memory
constexpr size_t kFarBlocks = 16384;

// How the layer reaches the bytes of a device type.
class Access {
 public:
  virtual ~Access() = default;
  virtual bool addressable() const = 0;
  // False if the plugin offers no way, or if another thread is enqueuing right now.
  virtual bool write(uint32_t index, void* raw, uint64_t offset, const void* bytes,
                     uint64_t count) = 0;
  virtual bool read(uint32_t index, void* raw, uint64_t offset, void* bytes, uint64_t count) = 0;
  virtual void release(uint32_t index, void* raw) = 0;
};

struct Block {
  uint32_t index = 0;       // of the device
  void* raw = nullptr;      // the plugin's handle
  void* shown = nullptr;    // what the core gets: the same, except on the host
  char* address = nullptr;  // of the first byte shown, if memory is addressable
  uint64_t front = 0;       // guard bytes before the block
  uint64_t bytes = 0;
  uint64_t guard = 0;  // guard bytes after it
  uint8_t key = 0;     // selects the guards' bytes
  uint64_t serial = 0;
  std::string op;
};

// The blocks of one device type.
class Blocks {
 public:
  Blocks(std::string type, Access& access, bool guarded_before)
      : type_(std::move(type)), access_(access), guarded_before_(guarded_before) {}

  // The width of the next block's guards.
  uint64_t margin() const;
  // How many bytes to ask the plugin for, given a block's size.
  uint64_t total(uint64_t bytes, uint64_t margin) const {
    return front(margin) + (bytes + 63) / 64 * 64 + margin;
  }
  // Registers what the plugin gave and reports what is wrong with it. Fills in what the core gets.
  tn_status* adopt(uint32_t index, uint64_t bytes, uint64_t margin, void** buffer, void** address);
  // Checks a block and forgets it, or keeps it for a while. Reports an unknown handle.
  void give_back(uint32_t index, void* shown);
  // The block of a handle; false if there is none.
  bool find(const void* shown, Block& out) const;
  // Names a block for reports, after the op that writes it first.
  void name(const void* shown, std::string_view op);
  // Whether the handle was given back and is still kept.
  bool is_gone(const void* shown) const;
  // Fills the guards of a live block with other bytes.
  void rekey(Block& block, uint8_t key);
  // Reports writes to a live block's guards, and restores them.
  void check_guards(const Block& block);
  // Gives back everything kept. False if there was nothing.
  bool flush();
  void each(uint64_t since, void (*visit)(void* ctx, const tn_live_block* block), void* ctx) const;
  uint64_t live() const;

 private:
  uint64_t front(uint64_t margin) const { return guarded_before_ ? margin : 0; }
  void guard(const Block& block);
  bool write_guards(const Block& block);
  void fill(const Block& block, unsigned char byte);
  void let_go(const Block& block);

  std::string type_;
  Access& access_;
  bool guarded_before_;
  std::map<const void*, Block> live_;  // protected by the state's lock, like the others
  std::deque<Block> kept_;
  uint64_t kept_bytes_ = 0;
};

uint64_t next_serial();

}  // namespace tenon::validate
