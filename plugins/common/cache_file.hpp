// A file of what a driver or a library has compiled or chosen. They trust what they are given, so the file must be complete, made for this
// device and driver (its name says which), and writable only by the user and root.
#ifndef TENON_PLUGINS_COMMON_CACHE_FILE_HPP
#define TENON_PLUGINS_COMMON_CACHE_FILE_HPP

#include <string>
#include <string_view>

namespace tenon {

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

// A folder of this name beside other programs' caches. Empty if the user has no place for them.
std::string cache_directory(const char* name);

}  // namespace tenon

#endif
