// A file whose bytes lie in memory only as long as something reads them.
#pragma once

#include <memory>

#include "tenon/io.hpp"

namespace tenon::graph {

class MappedFile : public io::detail::InputFile {
 public:
  // Begins every message with "[function] path". Throws Error.
  MappedFile(const std::string& path, const std::string& function);
  ~MappedFile() override;

  // A byte, which must not be written to.
  unsigned char* at(uint64_t offset) const { return data_ + offset; }

 private:
  unsigned char* data_ = nullptr;
};

// Gives the memory of these bytes back if they belong to a mapped file; whoever reads them again gets them from there.
void drop_pages(const void* begin, size_t bytes);

}  // namespace tenon::graph
