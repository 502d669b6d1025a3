// A file whose bytes lie in memory only as long as something reads them.
#pragma once

#include <memory>

#include "tenon/io.hpp"

namespace tenon::graph {

class MappedFile : public io::detail::Source {
 public:
  // Begins every message with "[function] path". Throws Error.
  MappedFile(const std::string& path, const std::string& function);
  ~MappedFile() override;

  uint64_t size() const override { return size_; }
  uint64_t read_some(void* destination, uint64_t bytes, uint64_t offset) const override;
  // A byte, which must not be written to.
  unsigned char* at(uint64_t offset) const { return data_ + offset; }

 private:
  io::detail::Descriptor fd_{-1};
  uint64_t size_ = 0;
  unsigned char* data_ = nullptr;
};

// Gives the memory of these bytes back if they belong to a mapped file; whoever reads them again gets them from there.
void drop_pages(const void* begin, size_t bytes);

}  // namespace tenon::graph
