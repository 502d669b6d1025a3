// A file of compiled pipelines. Drivers trust what they are given: it comes from a file that nobody but the user and root can have
// written, under the name of this device and driver, whole.
#pragma once

#include <string>
#include <string_view>

namespace tenon::vulkan {

class CacheFile {
 public:
  // An empty folder: none is kept.
  CacheFile(std::string folder, std::string name)
      : folder_(std::move(folder)), name_(std::move(name)) {}

  // Empty when there is none to be trusted.
  std::string read() const;
  // Whole or not at all. Failing is no error: it is a cache.
  void write(std::string_view data) const;

 private:
  int open_folder() const;

  std::string folder_, name_;
};

}  // namespace tenon::vulkan
