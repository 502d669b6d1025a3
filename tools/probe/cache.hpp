// The directory of verdicts: one file by the hash of a library's content, one by its inode and times.
#pragma once

#include <string>

namespace tenon::probe {

class Cache {
 public:
  // Makes the directory where it is missing. Without one that belongs to the user alone nothing is read or written.
  explicit Cache(const std::string& directory);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache();

  // Empty when there is no such file, or somebody else could have written it.
  std::string read(const std::string& name) const;
  // Whole or not at all. Failure is no error: the library is tried again next time.
  void write(const std::string& name, const std::string& text) const;
  // Removes the oldest files when there are many.
  void prune() const;

 private:
  int folder_ = -1;
};

}  // namespace tenon::probe
