// A vendor's runtime under our own names: plugins/cuda, plugins/rocm and sim/ each define these functions. All throw sdk::Error with the
// vendor's message. "The device" is the one that use() chose for the calling thread.
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
  uint64_t peak_flops = 0;           // f32; 0 if unknown
  uint32_t architecture = 0;         // 90: sm_90; 0x90a: gfx90a; 0 if unknown
};

// Opens the driver. Finding no device is not an error: `reason` says why.
std::vector<Device> devices(std::string& reason);
// Chooses the calling thread's device, whoever chose before. Cheap if it is already chosen.
void use(uint32_t index);

void memory_info(uint64_t* free, uint64_t* total);
void* allocate(uint64_t bytes);  // NULL if memory is exhausted
void free(void* address) noexcept;
void* host_allocate(uint64_t bytes);
void host_free(void* address) noexcept;
bool is_pinned(const void* address);

using Stream = void*;
using Event = void*;

// Enqueues a copy. Pageable host memory may be reused on return.
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
