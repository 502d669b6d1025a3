// Blocks of device memory: guarded behind (on the host also before), poisoned when fresh, kept for a while after their free.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "state.hpp"

namespace tenon::validate {

// Every float that these bytes make, at any width, is a NaN: what is read by mistake shows.
constexpr unsigned char kFresh = 0xff;   // memory nobody has written
constexpr unsigned char kSecond = 0xcb;  // for a second look at an output that seems unwritten
// Guards hold NaNs of 16 bits and more that differ from block to block, so that what copies a neighbour's guard shows.
constexpr uint8_t kGuardKeys = 126;
inline unsigned char guard_byte(uint8_t key, uint64_t at) {
  if (at % 2 == 1) return 0x7f;
  return at % 8 == 6 ? 0xff : static_cast<unsigned char>(0x81 + key);
}
// An index that is off by a row of 4096 floats lands in it.
constexpr uint64_t kFarGuard = 20 << 10;
constexpr uint64_t kNearGuard = 64;  // of blocks beyond the first kFarBlocks, for their memory
constexpr size_t kFarBlocks = 16384;

// How the layer reaches the bytes of a device type.
class Access {
 public:
  virtual ~Access() = default;
  virtual bool addressable() const = 0;
  // False when the plugin offers no way, or another thread enqueues right now.
  virtual bool write(uint32_t index, void* raw, uint64_t offset, const void* bytes,
                     uint64_t count) = 0;
  virtual bool read(uint32_t index, void* raw, uint64_t offset, void* bytes, uint64_t count) = 0;
  virtual void release(uint32_t index, void* raw) = 0;
};

struct Block {
  uint32_t index = 0;       // of the device
  void* raw = nullptr;      // the plugin's handle
  void* shown = nullptr;    // what the core has: the same, but on the host
  char* address = nullptr;  // of the first byte shown, where memory is addressable
  uint64_t front = 0;       // guard bytes before
  uint64_t bytes = 0;
  uint64_t guard = 0;  // guarded bytes behind
  uint8_t key = 0;     // of the guards' bytes
  uint64_t serial = 0;
  std::string op;
};

// The blocks of one device type.
class Blocks {
 public:
  Blocks(std::string type, Access& access, bool guarded_before)
      : type_(std::move(type)), access_(access), guarded_before_(guarded_before) {}

  // How wide the guards of the next block are.
  uint64_t margin() const;
  // What to ask of the plugin for a block of that size.
  uint64_t total(uint64_t bytes, uint64_t margin) const {
    return front(margin) + (bytes + 63) / 64 * 64 + margin;
  }
  // Takes up what the plugin gave; reports what is wrong with it. Fills in what the core gets.
  tn_status* adopt(uint32_t index, uint64_t bytes, uint64_t margin, void** buffer, void** address);
  // Checks and forgets a block, or keeps it for a while. Reports a handle that is none.
  void give_back(uint32_t index, void* shown);
  // The block of a handle; false when there is none.
  bool find(const void* shown, Block& out) const;
  // What a block is called in reports: the op that wrote it first.
  void name(const void* shown, std::string_view op);
  // True when the handle was given back, and is still kept.
  bool is_gone(const void* shown) const;
  // Gives the guards of a live block other bytes.
  void rekey(Block& block, uint8_t key);
  // Reports guards of a live block that were written to, and restores them.
  void check_guards(const Block& block);
  // Gives back everything kept. False when there was nothing.
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
  std::map<const void*, Block> live_;  // under the state's lock, as the others
  std::deque<Block> kept_;
  uint64_t kept_bytes_ = 0;
};

uint64_t next_serial();

}  // namespace tenon::validate
