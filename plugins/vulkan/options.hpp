// What the environment says, read once when the plugin starts. plugins/vulkan/README.md lists it.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::vulkan {

// A failure made on purpose at the n-th submission (or allocation) of each device, counted from 1.
struct Fault {
  enum Kind { kNone, kLost, kHang, kMemory } kind = kNone;
  uint64_t at = 0;
};

struct Options {
  // TENON_VULKAN_DESCRIPTORS=1: bind buffers even where they have addresses.
  bool descriptors = false;
  bool robust = false;  // TENON_VULKAN_ROBUST=1: bounds of bound buffers are checked by the device
  // TENON_VULKAN_COOPERATIVE=never: no matrix units. emulated: their shader on lanes; wrong: the same with wrong sums; for tests
  enum class Cooperative { kWhereOffered, kNever, kEmulated, kWrong } cooperative{};
  // TENON_VULKAN_STREAMS=2: calls take turns on two streams, each waiting for the one before; for tests
  bool two_streams = false;
  // TENON_VULKAN_SPREAD=1: work is spread as over a GPU where a CPU is the device.
  bool spread = false;
  // TENON_VULKAN_VALIDATION=core|sync|gpu: the Khronos layer, messages are errors in the log
  std::string validation;
  std::string cache;  // TENON_VULKAN_CACHE: folder of pipeline caches; empty: none is kept
  // TENON_VULKAN_TIMEOUT: seconds after which unfinished work counts as hung.
  uint64_t timeout_ns = 0;
  Fault fault;  // TENON_VULKAN_FAULT=lost:N, hang:N or memory:N, for tests
};

// Throws sdk::Error where a variable holds something else.
Options read_options();

}  // namespace tenon::vulkan
