// Identity cards, read apart from the core's own reader.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::conformance {

struct Card {
  std::string path, id, version, library;
  uint32_t abi_major = 0, abi_minor = 0, min_host_minor = 0;
};

// The library that a path, of a library or of a card, stands for. Throws Error.
std::string library_of(const std::string& path);
// The path of the card that is meant or that lies beside a library; empty when there is none.
std::string card_of(const std::string& path);
// Throws Error that names the field.
Card read_card(const std::string& path);

}  // namespace tenon::conformance
