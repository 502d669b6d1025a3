// Tests a device's memory through the plugin's own tables: blocks, copies, fills, limits.
#include <algorithm>
#include <functional>
#include <memory>
#include <thread>

#include "groups/groups.hpp"
#include "groups/raw_device.hpp"

namespace tenon::conformance {
namespace {

using DeviceCase = void (*)(const RawDevice& device, uint64_t seed, Sink& sink);

// ---- Blocks

void check_blocks(const RawDevice& device, uint64_t seed, Sink& sink) {
  for (uint64_t bytes : {1u, 3u, 64u, 65u, 4096u, 1u << 20, 64u << 20})
    run_case(sink, device.id() + "/allocate " + std::to_string(bytes), [&]() -> std::string {
      const RawBlock block(device, bytes);
      if (reinterpret_cast<uintptr_t>(block.address()) % 64 != 0)
        return "the address is not a multiple of 64";
      const RawStream stream(device);
      const Bytes first = pattern(1, seed);  // both ends can be reached
      block.write(stream, bytes - 1, first);
      return difference(block.contents(stream, bytes - 1, 1), first);
    });
  run_case(sink, device.id() + "/allocate 0", [&]() -> std::string {
    void *buffer = nullptr, *address = nullptr;
    const StagedType& type = device.type();
    if (text_of(type.memory.allocate(type.self, device.index(), 0, &buffer, &address)).empty() &&
        buffer != nullptr)
      type.memory.free(type.self, device.index(), buffer);
    return {};  // any answer will do, because the core rounds up; a crash will not
  });
  run_case(sink, device.id() + "/many blocks", [&]() -> std::string {
    const RawStream stream(device);
    std::vector<std::unique_ptr<RawBlock>> blocks;
    const auto size = [](size_t i) { return 64 + 37 * i; };
    for (size_t i = 0; i < 200; ++i) {
      blocks.push_back(std::make_unique<RawBlock>(device, size(i)));
      blocks[i]->write(stream, 0, pattern(size(i), seed + i));
    }
    for (size_t i = 0; i < blocks.size(); i += 3) blocks[i].reset();
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] == nullptr) continue;
      const std::string problem =
          difference(blocks[i]->contents(stream, 0, size(i)), pattern(size(i), seed + i));
      if (!problem.empty()) return "block " + std::to_string(i) + " was overwritten: " + problem;
    }
    return {};
  });
  run_case(sink, device.id() + "/threads", [&]() -> std::string {
    std::vector<std::string> problems(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < problems.size(); ++t)
      threads.emplace_back([&, t] {
        try {
          const RawStream stream(device);
          for (size_t i = 0; i < 50 && problems[t].empty(); ++i) {
            const RawBlock block(device, 256 + i);
            const Bytes wanted = pattern(256 + i, seed + 1000 * t + i);
            block.write(stream, 0, wanted);
            problems[t] = difference(block.contents(stream, 0, wanted.size()), wanted);
          }
        } catch (const std::exception& error) {
          problems[t] = error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& problem : problems)
      if (!problem.empty()) return "with a stream for each of 4 threads: " + problem;
    return {};
  });
}

void check_limits(const RawDevice& device, uint64_t, Sink& sink) {
  for (uint64_t bytes : {uint64_t{1} << 50, uint64_t{1} << 62, ~uint64_t{0} - 4096, ~uint64_t{0}})
    run_case(
        sink, device.id() + "/out of memory at " + std::to_string(bytes), [&]() -> std::string {
          void *buffer = nullptr, *address = nullptr;
          const StagedType& type = device.type();
          const std::string text =
              text_of(type.memory.allocate(type.self, device.index(), bytes, &buffer, &address));
          if (text.starts_with("OUT_OF_MEMORY")) {
            const RawBlock small(device, 64);  // the device still works
            return {};
          }
          if (!text.empty()) return "wanted OUT_OF_MEMORY, got " + text;
          type.memory.free(type.self, device.index(), buffer);
          return "allocate says it has " + std::to_string(bytes) + " bytes";
        });
}

// ---- Copies

std::string round_trip(const RawDevice& device, uint64_t offset, uint64_t bytes, uint64_t seed) {
  const RawStream stream(device);
  const uint64_t total = offset + bytes + 64;
  const RawBlock block(device, total);
  Bytes all = pattern(total, seed);
  block.write(stream, 0, all);
  const Bytes part = pattern(bytes, seed + 1);
  block.write(stream, offset, part);
  std::copy(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(offset));
  std::string problem = difference(block.contents(stream, 0, total), all);
  if (problem.empty()) problem = difference(block.contents(stream, offset, bytes), part);
  return problem;
}

std::string within(const RawDevice& device, uint64_t from, uint64_t to, uint64_t bytes,
                   bool one_buffer, uint64_t seed) {
  const RawStream stream(device);
  const uint64_t total = std::max(from, to) + bytes + 64;
  const RawBlock a(device, total), b(device, total);
  const Bytes source = pattern(total, seed);
  Bytes wanted = one_buffer ? source : pattern(total, seed + 1);
  a.write(stream, 0, source);
  b.write(stream, 0, wanted);
  const RawBlock& target = one_buffer ? a : b;
  const StagedType& type = device.type();
  const bool overlap = one_buffer && from < to + bytes && to < from + bytes;
  const std::string refused = text_of(type.memory.copy_within(
      type.self, device.index(), stream.get(), a.buffer(), from, target.buffer(), to, bytes));
  if (!refused.empty()) {
    stream.wait();
    return overlap ? "" : "memory.copy_within answered " + refused;
  }
  std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), bytes,
              wanted.begin() + static_cast<std::ptrdiff_t>(to));
  return difference(target.contents(stream, 0, total), wanted);
}

void check_copies(const RawDevice& device, uint64_t seed, Sink& sink) {
  for (uint64_t offset : {0u, 1u, 63u, 64u, 4097u})
    for (uint64_t bytes : {0u, 1u, 7u, 64u, 4095u, 65537u})
      run_case(
          sink,
          device.id() + "/in and out " + std::to_string(bytes) + " at " + std::to_string(offset),
          [&] { return round_trip(device, offset, bytes, seed); });
  run_case(sink, device.id() + "/host memory is free when copy_in returns", [&]() -> std::string {
    const RawStream stream(device);
    const RawBlock block(device, 1 << 20);
    const Bytes wanted = pattern(1 << 20, seed);
    Bytes source = wanted;
    block.write(stream, 0, source);
    std::fill(source.begin(), source.end(), 0xee);
    return difference(block.contents(stream, 0, wanted.size()), wanted);
  });
  if (device.type().memory.copy_within == nullptr)
    sink.skip(device.id() + "/within", "the plugin has no memory.copy_within");
  else
    for (uint64_t bytes : {0u, 1u, 13u, 4096u, 65537u}) {
      run_case(sink, device.id() + "/within two buffers " + std::to_string(bytes),
               [&] { return within(device, 3, 129, bytes, false, seed); });
      run_case(sink, device.id() + "/within one buffer " + std::to_string(bytes),
               [&] { return within(device, 0, bytes + 64, bytes, true, seed); });
      for (const auto& [a, b] : {std::pair{0u, 5u}, {5u, 0u}, {64u, 0u}, {0u, 64u}}) {
        const uint64_t from = a, to = b;  // lambdas may not capture structured bindings
        run_case(sink,
                 device.id() + "/within overlapping " + std::to_string(bytes) + " from " +
                     std::to_string(from) + " to " + std::to_string(to),
                 [&] { return within(device, from, to, bytes, true, seed); });
      }
    }
  run_case(sink, device.id() + "/big", [&]() -> std::string {
    const uint64_t free = device.info().memory_free;
    return round_trip(device, 1, free > (1u << 30) ? (48u << 20) + 5 : free / 8, seed);
  });
}

void check_peers(const RawDevice& first, uint64_t seed, Sink& sink) {
  const StagedType& type = first.type();
  uint32_t count = 0;
  tn_str reason{nullptr, 0};
  call(type.device.count, "device.count", type.self, &count, &reason);
  if (first.index() != 0) return;
  if (count < 2 || type.memory.copy_peer == nullptr)
    return sink.skip(first.id() + "/peer",
                     count < 2 ? "there is one device of this type only"
                               : "the plugin has no memory.copy_peer: the core goes through "
                                 "host memory");
  const RawDevice second(type, 1);
  for (uint64_t bytes : {1u, 4097u, 1u << 20})
    run_case(sink, first.id() + "/peer " + std::to_string(bytes), [&]() -> std::string {
      const RawStream there(first), here(second);
      const RawBlock a(first, bytes + 8), b(second, bytes + 16);
      const Bytes source = pattern(bytes + 8, seed);
      a.write(there, 0, source);
      there.wait();
      call(type.memory.copy_peer, "memory.copy_peer", type.self, 0u, a.buffer(), uint64_t{8}, 1u,
           b.buffer(), uint64_t{16}, bytes, there.get());
      there.wait();
      return difference(b.contents(here, 16, bytes), Bytes(source.begin() + 8, source.end()));
    });
}

// ---- Fills and pinned memory

void check_fills(const RawDevice& device, uint64_t seed, Sink& sink) {
  const StagedType& type = device.type();
  if (type.memory.fill == nullptr)
    return sink.skip(device.id() + "/fill", "the plugin has no memory.fill: the core copies");
  for (uint32_t width : {1u, 2u, 4u, 8u})
    for (uint64_t count : {0u, 1u, 5u, 4099u})
      for (uint64_t lead : {0u, 3u})
        run_case(sink,
                 device.id() + "/fill " + std::to_string(count) + " of " + std::to_string(width) +
                     " bytes at element " + std::to_string(lead),
                 [&]() -> std::string {
                   const RawStream stream(device);
                   const uint64_t offset = lead * width, bytes = count * width;
                   const RawBlock block(device, offset + bytes + 16);
                   Bytes wanted = pattern(offset + bytes + 16, seed);
                   block.write(stream, 0, wanted);
                   const Bytes value = pattern(width, seed + 9);
                   call(type.memory.fill, "memory.fill", type.self, device.index(), stream.get(),
                        block.buffer(), offset, bytes, value.data(), width);
                   for (uint64_t i = 0; i < bytes; ++i) wanted[offset + i] = value[i % width];
                   return difference(block.contents(stream, 0, wanted.size()), wanted);
                 });
}

void check_pinned(const RawDevice& device, uint64_t seed, Sink& sink) {
  const StagedType& type = device.type();
  if (type.memory.host_allocate == nullptr || type.memory.host_free == nullptr)
    return sink.skip(device.id() + "/pinned", "the plugin offers no pinned host memory");
  for (uint64_t bytes : {1u, 4096u, 1u << 20})
    run_case(sink, device.id() + "/pinned " + std::to_string(bytes), [&]() -> std::string {
      void* address = nullptr;
      call(type.memory.host_allocate, "memory.host_allocate", type.self, device.index(), bytes,
           &address);
      const Bytes wanted = pattern(bytes, seed);
      std::copy(wanted.begin(), wanted.end(), static_cast<unsigned char*>(address));
      const RawStream stream(device);
      const RawBlock block(device, bytes);
      call(type.memory.copy_in, "memory.copy_in", type.self, device.index(), stream.get(),
           static_cast<const void*>(address), block.buffer(), uint64_t{0}, bytes);
      std::fill_n(static_cast<unsigned char*>(address), bytes, static_cast<unsigned char>(0xee));
      std::string problem = difference(block.contents(stream, 0, bytes), wanted);
      type.memory.host_free(type.self, device.index(), address);
      return problem;
    });
  for (uint64_t bytes : {1u, 4097u, (9u << 20) + 3})
    run_case(sink, device.id() + "/pinned back " + std::to_string(bytes), [&]() -> std::string {
      constexpr uint64_t kLead = 5;
      const RawStream stream(device);
      const RawBlock block(device, bytes);
      const Bytes wanted = pattern(bytes, seed);
      block.write(stream, 0, wanted);
      void* address = nullptr;
      call(type.memory.host_allocate, "memory.host_allocate", type.self, device.index(),
           kLead + 2 * bytes, &address);
      auto* const there = static_cast<unsigned char*>(address);
      std::fill_n(there, kLead + 2 * bytes, static_cast<unsigned char>(0x5a));
      for (const uint64_t at : {kLead, kLead + bytes})  // side by side, one wait for both
        call(type.memory.copy_out, "memory.copy_out", type.self, device.index(), stream.get(),
             block.buffer(), uint64_t{0}, static_cast<void*>(there + at), bytes);
      stream.wait();
      std::string problem = difference(Bytes(there + kLead, there + kLead + bytes), wanted);
      if (problem.empty())
        problem = difference(Bytes(there + kLead + bytes, there + kLead + 2 * bytes), wanted);
      if (problem.empty() && std::any_of(there, there + kLead, [](auto b) { return b != 0x5a; }))
        problem = "bytes before the target were written";
      type.memory.host_free(type.self, device.index(), address);
      return problem;
    });
}

const std::vector<std::pair<std::string, DeviceCase>>& areas() {
  static const std::vector<std::pair<std::string, DeviceCase>> all = {
      {"blocks", check_blocks}, {"limits", check_limits}, {"copies", check_copies},
      {"peers", check_peers},   {"fills", check_fills},   {"pinned", check_pinned}};
  return all;
}

}  // namespace

std::vector<std::string> memory_units(const Claims&) {
  std::vector<std::string> names;
  for (const auto& [name, run] : areas()) names.push_back(name);
  return names;
}

void run_memory(const Subject& subject, const std::string& unit, Sink& sink) {
  Stage stage(subject.path);
  const std::vector<RawDevice> devices = devices_for(
      stage, unit, "the plugin has no device type of its own; the memory is another's", sink);
  for (const auto& [name, run] : areas())
    if (name == unit)
      for (const RawDevice& device : devices) run(device, subject.seed, sink);
}

}  // namespace tenon::conformance
