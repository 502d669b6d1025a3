// Dynamic symbols of a library's file, read without opening it.
#pragma once

#include <string>
#include <vector>

namespace tenon::conformance {

struct Symbols {
  std::vector<std::string> exported, undefined;
};
// Throws Error if the file is not a 64-bit ELF library of this byte order.
Symbols read_symbols(const std::string& path);

}  // namespace tenon::conformance
