// What tenon-probe says about a library; libtenon reads it (core/plugin/probe.cpp).
#pragma once

#include <cstdint>
#include <string>

namespace tenon::probe {

struct Verdict {
  uint32_t code = 0;  // TN_OK: may be opened
  std::string id, version, reason;
  bool dangerous = false;  // it did not even answer: worth remembering
};

// Seven lines and "end". `until`: when it expires, in seconds since 1970; 0: never.
std::string to_text(const Verdict& verdict, const std::string& key, const std::string& hash,
                    int64_t until);

// Tries the library in a child process, for at most `seconds`.
Verdict try_library(const char* library, unsigned seconds);

}  // namespace tenon::probe
