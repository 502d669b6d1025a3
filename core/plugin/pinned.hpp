// A library's file, opened once: what is hashed, tried and judged is what is then loaded.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::core {

class Pinned {
 public:
  // Throws Error when there is no regular file that can be read.
  explicit Pinned(const std::string& path);
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned();

  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  // The name of its verdict (verdicts::key_of).
  const std::string& key() const { return key_; }
  uint64_t size() const { return size_; }
  std::string sha256() const;

  // Whether the path still leads to this file, and its content is that of the beginning.
  bool stands() const;
  // The dynamic linker's handle, kept for good: statuses, tables and handles may point into a library. Throws Error when it cannot
  // be opened, or when the dynamic linker found another file at the path; nothing but its static constructors has run then.
  void* load() const;

 private:
  std::string path_, key_;
  int descriptor_;
  uint64_t size_ = 0;
};

}  // namespace tenon::core
