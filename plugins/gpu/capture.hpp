// tn.capture: what a stream would run is recorded and launched as a graph, by a vendor's own graphs or the simulator's recordings.
// What cannot be recorded is refused before the runtime sees it, so that a recording stays whole.
#pragma once

#include <string_view>

#include "backend.hpp"

namespace tenon::gpu {
namespace rt {

using Graph = void*;
// What is enqueued on the stream is recorded from now on.
void capture_begin(Stream stream);
// Ends it, also where it throws. NULL unless `keep`.
Graph capture_end(Stream stream, bool keep, uint64_t& nodes);
void graph_launch(Graph graph, Stream stream);
void graph_destroy(Graph graph) noexcept;

}  // namespace rt

bool is_captured(rt::Stream stream);
// Throws TN_FAILED_PRECONDITION where the stream is captured; `what` cannot be part of a graph.
void refuse_captured(rt::Stream stream, std::string_view what);
// Two numbers on the device that each launch sets: a seed, and how far its generator has come since the capture. NULL where the
// stream is not captured. Throws where (seed, offset) is not of the generator that the capture knows.
const uint64_t* captured_draws(const Stream& stream, uint64_t seed, uint64_t offset);
// Whether a thread captures on the device; throws where it is the calling one.
bool is_device_captured(uint32_t device, std::string_view what);

// Memory for what the calling thread captures on the device: *made is NULL where none is left. False where it captures nothing there.
bool allocate_captured(uint32_t device, uint64_t bytes, void** made);
// Whether the memory is a graph's, which keeps it then.
bool free_captured(void* address);

// Makes what kernels of graphs that were launched on the stream have noted the stream's own note. After a wait.
void take_notes(Stream& stream);
// The stream goes.
void forget_stream(Stream& stream) noexcept;

// The table, where a plugin is asked for this interface; NULL for another.
const void* capture_interface(tn_str name, uint32_t revision);

}  // namespace tenon::gpu
