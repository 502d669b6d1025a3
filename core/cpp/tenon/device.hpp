// Devices, and the memory that the core holds on them.
#ifndef TENON_DEVICE_HPP
#define TENON_DEVICE_HPP

#include <string>
#include <string_view>
#include <vector>

#include "tenon/device.h"
#include "tenon/error.hpp"

namespace tenon {

// A borrowed handle; devices live as long as the process. As an optional argument, an undefined device means the default.
class Device {
 public:
  constexpr Device() noexcept = default;
  constexpr explicit Device(tn_device* handle) noexcept : handle_(handle) {}
  // "cpu", "vulkan:1", "auto". Throws Error(TN_NOT_FOUND), which lists the available devices.
  Device(std::string_view name) { detail::check(tn_device_find(detail::to_str(name), &handle_)); }
  Device(const char* name) : Device(std::string_view(name)) {}
  Device(const std::string& name) : Device(std::string_view(name)) {}

  bool defined() const noexcept { return handle_ != nullptr; }
  tn_device* get() const noexcept { return handle_; }
  bool operator==(const Device&) const noexcept = default;

  // "cpu:0"
  std::string_view id() const {
    return handle_ ? detail::to_view(tn_device_id(handle_)) : "default";
  }
  std::string_view plugin() const {
    return handle_ ? detail::to_view(tn_device_plugin(handle_)) : std::string_view();
  }
  tn_device_info info() const {
    tn_device_info info{};
    info.struct_size = sizeof(info);
    detail::check(tn_device_get_info(require(), &info));
    return info;
  }
  // Waits until all work is done. Throws if any of it failed.
  void synchronize() const { detail::check(tn_device_synchronize(require())); }

  tn_memory_stats memory() const {
    tn_memory_stats stats{};
    stats.struct_size = sizeof(stats);
    detail::check(tn_memory_get_stats(require(), &stats));
    return stats;
  }
  void reset_memory_peak() const { tn_memory_reset_peak(require()); }
  // The most bytes that the allocator may hold; 0: no limit.
  void set_memory_limit(uint64_t bytes) const { tn_memory_set_limit(require(), bytes); }
  // Returns cached blocks to the device.
  void trim_memory() const { detail::check(tn_memory_trim(require())); }

 private:
  tn_device* require() const {
    if (handle_ == nullptr) throw Error(TN_INVALID_ARGUMENT, "[Device] undefined device");
    return handle_;
  }
  tn_device* handle_ = nullptr;
};

// Every device of every plugin, the host first.
inline std::vector<Device> devices() {
  std::vector<Device> found;
  for (uint32_t i = 0, n = tn_device_count(); i < n; ++i) found.emplace_back(tn_device_at(i));
  return found;
}

namespace detail {
inline void append_text(void* text, tn_str chunk) {
  static_cast<std::string*>(text)->append(to_view(chunk));
}
}  // namespace detail

// The device that "auto" stands for. *why receives the reason in one line.
inline Device best_device(std::string* why = nullptr) {
  std::string reason;
  const Device best(tn_device_best(&detail::append_text, &reason));
  if (why != nullptr) *why = std::move(reason);
  return best;
}

}  // namespace tenon
#endif
