// tn.capture: records what a stream would run and launches it as a graph, using the vendor's graphs or the simulator's recordings. Work
// that cannot be recorded is refused before the runtime sees it, so that the recording stays valid.
#pragma once

#include <string_view>

#include "backend.hpp"

namespace tenon::gpu {
namespace rt {

using Graph = void*;
// From now on, records what is enqueued on the stream.
void capture_begin(Stream stream);
// Ends the recording, even if it throws. Returns NULL unless `keep`.
Graph capture_end(Stream stream, bool keep, uint64_t& nodes);
void graph_launch(Graph graph, Stream stream);
void graph_destroy(Graph graph) noexcept;

}  // namespace rt

bool is_captured(rt::Stream stream);
// Throws TN_FAILED_PRECONDITION if the stream is captured, because `what` cannot be part of a graph.
void refuse_captured(rt::Stream stream, std::string_view what);
// Two numbers in device memory that each launch sets: a seed, and how far its generator has moved since the capture. NULL if the stream is
// not captured. Throws if (seed, offset) belong to another generator than the capture's.
const uint64_t* captured_draws(const Stream& stream, uint64_t seed, uint64_t offset);
// Whether any thread is capturing on the device; throws if it is the calling one.
bool is_device_captured(uint32_t device, std::string_view what);

// Allocates for what the calling thread captures on the device; *made is NULL if there is no memory left. Returns false if it captures
// nothing there.
bool allocate_captured(uint32_t device, uint64_t bytes, void** made);
// Whether the memory belongs to a graph, which then keeps it.
bool free_captured(void* address);

// Copies reports from kernels of launched graphs to the stream's own note. Call it after a wait.
void take_notes(Stream& stream);
// Called when the stream is destroyed.
void forget_stream(Stream& stream) noexcept;

// The table, if a plugin is asked for this interface; NULL for any other.
const void* capture_interface(tn_str name, uint32_t revision);

}  // namespace tenon::gpu
