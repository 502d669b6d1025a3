// Device types behind the layer.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "blocks.hpp"

namespace tenon::validate {

// Who is enqueuing on a stream right now; only one thread at a time may.
struct StreamState {
  uint32_t index = 0;
  std::thread::id user;
  uint32_t depth = 0;
};

// Never freed: the core may hold its tables for the life of the process.
class DeviceType final : public Access {
 public:
  DeviceType(std::string_view plugin, const tn_device_type& given);

  const std::string plugin, name;
  tn_device_table device{};  // the plugin's own, at full size; NULL if it has none
  tn_memory_table memory{};
  tn_stream_table stream{};
  void* const self;
  bool has_streams = false;
  std::atomic<uint32_t> count{0};
  std::unique_ptr<Blocks> blocks;

  // What the core gets: tables with the same slots, routed through the layer.
  void publish(tn_device_type& out);

  bool is_host() const { return plugin == "core"; }
  // Whether a buffer that is no block may be memory of others: programs wrap their own on the host, and DLPack brings it to devices.
  bool may_be_foreign(const void* buffer) const;
  bool addressable() const override { return (memory.flags & TN_MEMORY_ADDRESSABLE) != 0; }
  bool write(uint32_t index, void* raw, uint64_t offset, const void* bytes, uint64_t n) override;
  bool read(uint32_t index, void* raw, uint64_t offset, void* bytes, uint64_t n) override;
  void release(uint32_t index, void* raw) override;
  // Waits for a stream; NULL if there are none.
  tn_status* wait(void* of);

  // Handles, protected by the state's lock.
  std::map<void*, StreamState> streams;
  std::set<void*> events;
  std::set<void*> pinned;

  // Reports what a plugin leaves behind.
  void report_leaks();

  // Requires that the stream be known (or rightly NULL), and reserves it for this thread until the end of the scope.
  class Use {
   public:
    Use(DeviceType& type, void* stream);
    ~Use();
    Use(const Use&) = delete;
    bool known() const { return known_; }

   private:
    DeviceType& type_;
    void* stream_;
    bool known_ = true, counted_ = false, locked_ = false;
  };
  // An error if a buffer does not contain the bytes that a copy names.
  tn_status* check_range(const char* what, void* buffer, uint64_t offset, uint64_t bytes) const;
  tn_status* check_index(uint32_t index) const;

 private:
  void* any_stream(uint32_t index);

  std::recursive_mutex order_;  // guards the enqueuing on this type's streams

  tn_device_table device_out_{};
  tn_memory_table memory_out_{};
  tn_stream_table stream_out_{};
};

// The type of that name that was registered last, or NULL.
DeviceType* find_type(std::string_view name);
std::vector<DeviceType*> all_types();
DeviceType& add_type(std::string_view plugin, const tn_device_type& given);

}  // namespace tenon::validate
