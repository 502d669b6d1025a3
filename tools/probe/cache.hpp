// The directory of verdicts: files named by the hash of a library's content, or by its inode and times.
#pragma once

#include <string>

namespace tenon::probe {

class Cache {
 public:
  // Creates the directory if missing. Nothing is read or written unless the directory belongs to the user alone.
  explicit Cache(const std::string& directory);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache();

  // Empty if there is no such file, or if somebody else could have written it.
  std::string read(const std::string& name) const;
  // Writes the file as a whole or not at all. Failing is not an error: the library is tried again next time.
  void write(const std::string& name, const std::string& text) const;
  // Removes the oldest files when there are many.
  void prune() const;

 private:
  int folder_ = -1;
};

}  // namespace tenon::probe
