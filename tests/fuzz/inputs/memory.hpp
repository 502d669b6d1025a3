// Memory in place of a file.
#pragma once

#include <string_view>

#include "tenon/io/detail/file.hpp"

namespace tenon::fuzz {

class MemorySource : public io::detail::Source {
 public:
  explicit MemorySource(std::string_view bytes) : Source("[fuzz] memory"), bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  uint64_t read_some(void* destination, uint64_t bytes, uint64_t offset) const override {
    const uint64_t begin = std::min<uint64_t>(offset, bytes_.size());
    const uint64_t n = std::min<uint64_t>(bytes, bytes_.size() - begin);
    if (n > 0) std::memcpy(destination, bytes_.data() + begin, n);
    return n;
  }

 private:
  std::string_view bytes_;
};

}  // namespace tenon::fuzz
