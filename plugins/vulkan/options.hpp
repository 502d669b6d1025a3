// Environment variables, read once when the plugin starts. plugins/vulkan/README.md lists them.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::vulkan {

// A failure on purpose at the n-th submission (or allocation) of each device, counted from 1.
struct Fault {
  enum Kind { kNone, kLost, kHang, kMemory } kind = kNone;
  uint64_t at = 0;
};

struct Options {
  // TENON_VULKAN_DESCRIPTORS=1: binds buffers even if they have addresses.
  bool descriptors = false;
  bool robust = false;  // TENON_VULKAN_ROBUST=1: the device checks the bounds of bound buffers
  // TENON_VULKAN_COOPERATIVE=never: no matrix units. For tests: emulated: their shader on ordinary lanes; wrong: the same with wrong sums
  enum class Cooperative { kWhereOffered, kNever, kEmulated, kWrong } cooperative{};
  // TENON_VULKAN_STREAMS=2: calls alternate between two streams, each waiting for the previous one; for tests
  bool two_streams = false;
  bool subgroups = true;  // TENON_VULKAN_SUBGROUPS=0: rows are summed without them
  // TENON_VULKAN_SPREAD=1: distributes work as on a GPU even if the device is a CPU.
  bool spread = false;
  // TENON_VULKAN_VALIDATION=core|sync|gpu: the Khronos layer; its messages are logged as errors
  std::string validation;
  std::string cache;  // TENON_VULKAN_CACHE: folder for pipeline caches; empty: no cache
  // TENON_VULKAN_TIMEOUT: seconds until unfinished work counts as hung.
  uint64_t timeout_ns = 0;
  Fault fault;  // TENON_VULKAN_FAULT=lost:N, hang:N or memory:N, for tests
};

// Throws sdk::Error if a variable has any other value.
Options read_options();

}  // namespace tenon::vulkan
