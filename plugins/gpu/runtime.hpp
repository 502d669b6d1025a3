// What a vendor's runtime does, under names of our own: plugins/cuda, plugins/rocm and sim/ each define these functions. All of
// them throw sdk::Error with the vendor's words. "The device" is the one that use() chose for the calling thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/dtype.h"

namespace tenon::gpu::rt {

// The name of the device type: "cuda".
extern const char* const kName;

struct Device {
  std::string name, pci_id;
  uint32_t kind = 0;  // TN_DEVICE_KIND_…
  uint64_t memory = 0;
  uint32_t compute_units = 1, warp_width = 32;
  uint32_t shared_bytes = 48 << 10;  // of a block
  uint64_t peak_flops = 0;           // f32, 0 where it is not known
  uint32_t architecture = 0;         // 90: sm_90; 0x90a: gfx90a; 0 where it is not known
};

// Opens the driver. No device is no error: `reason` says why there is none.
std::vector<Device> devices(std::string& reason);
// Chooses the device of the calling thread, whoever chose before; costs little where it is chosen already.
void use(uint32_t index);

void memory_info(uint64_t* free, uint64_t* total);
void* allocate(uint64_t bytes);  // NULL where memory is out
void free(void* address) noexcept;
void* host_allocate(uint64_t bytes);
void host_free(void* address) noexcept;
bool is_pinned(const void* address);

using Stream = void*;
using Event = void*;

// Enqueued; host memory that is not pinned may be reused when it returns.
void copy_in(void* to, const void* from, uint64_t bytes, Stream stream);
void copy_out(void* to, const void* from, uint64_t bytes, Stream stream);
void copy_within(void* to, const void* from, uint64_t bytes, Stream stream);  // no overlap
void copy_peer(void* to, uint32_t to_index, const void* from, uint32_t from_index, uint64_t bytes,
               Stream stream);
void fill(void* to, unsigned char value, uint64_t bytes, Stream stream);

Stream stream_create();
void stream_destroy(Stream stream) noexcept;
void synchronize(Stream stream);
void synchronize_device();
Event event_create();
void event_destroy(Event event) noexcept;
void record(Event event, Stream stream);
void wait(Stream stream, Event event);
bool reached(Event event);
void synchronize_event(Event event);
double seconds_between(Event start, Event end);

}  // namespace tenon::gpu::rt
