// A device type over host memory. A test sets its capacity, its slots and its failures.
#pragma once

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "memory/allocator.hpp"
#include "memory/device.hpp"
#include "status.hpp"

namespace tenon::test {

struct FakeDevice {
  uint64_t capacity = ~uint64_t{0};
  uint64_t taken = 0;
  uint64_t calls = 0;
  uint64_t synchronized = 0;
  uint64_t synchronized_before_free = 0;
  uint32_t count = 1;
  std::map<void*, uint64_t> blocks;
  tn_device_table device{};
  tn_memory_table memory{};
  tn_stream_table stream{};
  tn_device_type type{};

  explicit FakeDevice(std::string_view name, bool with_streams = false) {
    device.struct_size = sizeof device;
    device.count = [](void* self, uint32_t* n, tn_str*) -> tn_status* {
      return *n = of(self).count, nullptr;
    };
    device.info = [](void* self, uint32_t, tn_device_info* out) -> tn_status* {
      out->kind = TN_DEVICE_KIND_OTHER;
      out->name = {"Fake", 4};
      out->memory_total = of(self).capacity;
      out->memory_free = of(self).capacity - of(self).taken;
      return nullptr;
    };
    memory.struct_size = sizeof memory;
    memory.allocate = [](void* self, uint32_t, uint64_t bytes, void** buffer,
                         void** address) -> tn_status* {
      FakeDevice& fake = of(self);
      ++fake.calls;
      *address = nullptr;
      if (bytes > fake.capacity - fake.taken)
        return core::make_status(TN_OUT_OF_MEMORY, "the fake is full");
      *buffer = std::malloc(bytes);
      fake.blocks[*buffer] = bytes;
      fake.taken += bytes;
      return nullptr;
    };
    memory.free = [](void* self, uint32_t, void* buffer) {
      FakeDevice& fake = of(self);
      fake.taken -= fake.blocks.at(buffer);
      fake.blocks.erase(buffer);
      fake.synchronized_before_free = fake.synchronized;
      std::free(buffer);
    };
    memory.copy_in = [](void*, uint32_t, void*, const void* src, void* buffer, uint64_t offset,
                        uint64_t bytes) -> tn_status* {
      std::memcpy(static_cast<char*>(buffer) + offset, src, bytes);
      return nullptr;
    };
    memory.copy_out = [](void*, uint32_t, void*, void* buffer, uint64_t offset, void* dst,
                         uint64_t bytes) -> tn_status* {
      std::memcpy(dst, static_cast<char*>(buffer) + offset, bytes);
      return nullptr;
    };
    stream.struct_size = sizeof stream;
    stream.create = [](void* self, uint32_t, void** out) -> tn_status* {
      return *out = self, nullptr;
    };
    stream.destroy = [](void*, void*) {};
    stream.synchronize = [](void* self, void*) -> tn_status* {
      return ++of(self).synchronized, nullptr;
    };
    type = {sizeof type, 0,       {name.data(), name.size()},      this,
            &device,     &memory, with_streams ? &stream : nullptr};
  }

  // Registers the type and returns its first device.
  tn_device& add() {
    core::add_device_type(plugin(), type);
    core::publish_device_types(plugin());
    return core::find_device(std::string(type.name.data, type.name.size) + ":0");
  }
  void remove() { core::retire_device_types(plugin()); }
  std::string plugin() const { return "test." + std::string(type.name.data, type.name.size); }

 private:
  static FakeDevice& of(void* self) { return *static_cast<FakeDevice*>(self); }
};

inline tn_memory_stats stats_of(tn_device& device) {
  tn_memory_stats stats{};
  stats.struct_size = sizeof stats;
  core::check(tn_memory_get_stats(&device, &stats));
  return stats;
}

// The message of the Error that `body` throws; empty if it throws none.
template <class Body>
std::string error_of(Body&& body, uint32_t code) {
  try {
    body();
  } catch (const Error& error) {
    return error.code() == code ? error.what()
                                : "code " + std::to_string(error.code()) + ": " + error.what();
  }
  return {};
}

}  // namespace tenon::test
