// Bytes between devices.
#include <algorithm>
#include <memory>

#include "memory/device.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

constexpr uint64_t kStaging = 16 << 20;  // bytes on the host at a time, when there is no direct way

struct End {
  tn_device& device;
  void* buffer;
  uint64_t offset;
  const tn_memory_table& memory() const { return device.type->memory; }
  void* self() const { return device.type->self; }
  // Bytes from the host or to it, `at` bytes behind the offset.
  tn_status* read(const void* src, uint64_t at, uint64_t bytes) const {
    const InOrder order(device);
    return memory().copy_in(self(), device.index, device.queue(), src, buffer, offset + at, bytes);
  }
  tn_status* write(void* dst, uint64_t at, uint64_t bytes) const {
    const InOrder order(device);
    return memory().copy_out(self(), device.index, device.queue(), buffer, offset + at, dst, bytes);
  }
};

// Throws with both ends in the message.
void checked(tn_status* status, const End& from, const End& to) {
  try {
    check(status);
  } catch (const Error& error) {
    if (names_op(error.what())) throw;
    fail(error.code(), "[copy] {} to {}: {}", from.device.id, to.device.id, error.what());
  }
}

// False when the plugin has no such slot.
bool offered(tn_status* status, const End& from, const End& to) {
  if (tn_status_code(status) == TN_UNIMPLEMENTED) {
    tn_status_release(status);
    return false;
  }
  checked(status, from, to);
  return true;
}

void wait_for(const End& end, const End& from, const End& to) {
  checked(synchronize(end.device), from, to);
}

void through_host(const End& from, const End& to, uint64_t bytes) {
  const auto staging = std::make_unique_for_overwrite<char[]>(std::min(bytes, kStaging));
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t piece = std::min(bytes - done, kStaging);
    checked(from.write(staging.get(), done, piece), from, to);
    wait_for(from, from, to);
    checked(to.read(staging.get(), done, piece), from, to);
    done += piece;
  }
  wait_for(to, from, to);
}

}  // namespace

void copy_bytes(tn_device& dst_device, void* dst_buffer, uint64_t dst_offset, tn_device& src_device,
                void* src_buffer, uint64_t src_offset, uint64_t bytes) {
  if (bytes == 0) return;
  const End from{src_device, src_buffer, src_offset};
  const End to{dst_device, dst_buffer, dst_offset};
  if (&src_device == &dst_device) {
    const InOrder order(src_device);
    if (!offered(from.memory().copy_within(from.self(), src_device.index, src_device.queue(),
                                           src_buffer, src_offset, dst_buffer, dst_offset, bytes),
                 from, to))
      through_host(from, to, bytes);
    return;
  }
  if (src_device.is_host()) {
    return checked(to.read(static_cast<const char*>(src_buffer) + src_offset, 0, bytes), from, to);
  }
  if (dst_device.is_host()) {
    checked(from.write(static_cast<char*>(dst_buffer) + dst_offset, 0, bytes), from, to);
    return wait_for(from, from, to);
  }
  if (src_device.type == dst_device.type) {
    const InOrder order(src_device);
    wait_for(to, from, to);  // work on the target's own stream that still uses it
    if (offered(from.memory().copy_peer(from.self(), src_device.index, src_buffer, src_offset,
                                        dst_device.index, dst_buffer, dst_offset, bytes,
                                        src_device.queue()),
                from, to))
      return wait_for(from, from, to);
  }
  through_host(from, to, bytes);
}

}  // namespace tenon::core
