// Identity cards: what is known of a plugin before it is opened.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::core {

struct Card {
  std::string path;     // of the card
  std::string library;  // full path
  std::string id, version;
  std::string sha256;  // of the library, in lower-case hex; empty when not given
  uint32_t abi_major = 0;
  uint32_t min_host_minor = 0;
  std::vector<std::string> cpu_features;  // without which the library must not be opened
  bool only_devices = false;       // nothing for other devices: opened when a device is asked for
  std::vector<std::string> needs;  // native libraries, for the message when one is missing
};

// Throws Error(TN_DATA_LOSS) that names the field.
Card read_card(const std::string& path);
// The same of a card's content, for a card that lies at `path`.
Card parse_card(const std::string& path, const std::string& content);
// Throws Error where this core is not of the ABI that a plugin needs; `built` is the one that it was built for.
void check_abi(uint32_t major, uint32_t min_host_minor, std::string_view built);
// Throws Error with the reason why this process must not open the card's library.
void check_fit(const Card& card);

}  // namespace tenon::core
