// Reads identity cards, independently of the core's reader.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::conformance {

struct Card {
  std::string path, id, version, library;
  uint32_t abi_major = 0, abi_minor = 0, min_host_minor = 0;
};

// The library for a path, which may be that of a library or of a card. Throws Error.
std::string library_of(const std::string& path);
// The path of the card itself or of the card beside a library; empty if there is none.
std::string card_of(const std::string& path);
// Throws Error with the field.
Card read_card(const std::string& path);

}  // namespace tenon::conformance
