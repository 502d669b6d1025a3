// What tests of the C ABI share: its strings as the standard library's, statuses as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "tenon/tenon.h"

namespace tenon::test {

inline tn_str str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string text(tn_str value) { return {value.data, static_cast<size_t>(value.size)}; }

struct Outcome {
  uint32_t code = TN_OK;
  std::string message;
};
inline std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << "code " << outcome.code << ": " << outcome.message;
}

// Releases the status.
inline Outcome take(tn_status* status) {
  Outcome outcome{tn_status_code(status), text(tn_status_message(status))};
  tn_status_release(status);
  return outcome;
}

}  // namespace tenon::test
