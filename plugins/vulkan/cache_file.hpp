// A file of compiled pipelines. Drivers trust what they are given, so the file must be complete, made for this device and driver, and
// writable only by the user and root.
#pragma once

#include <string>
#include <string_view>

namespace tenon::vulkan {

class CacheFile {
 public:
  // An empty folder: no cache.
  CacheFile(std::string folder, std::string name)
      : folder_(std::move(folder)), name_(std::move(name)) {}

  // Empty if there is none that can be trusted.
  std::string read() const;
  // Replaces the file as a whole or not at all. Failing is not an error, since it is only a cache.
  void write(std::string_view data) const;

 private:
  int open_folder() const;

  std::string folder_, name_;
};

}  // namespace tenon::vulkan
