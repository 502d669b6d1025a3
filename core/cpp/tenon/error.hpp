// Turns statuses of the C ABI into exceptions.
#ifndef TENON_ERROR_HPP
#define TENON_ERROR_HPP

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/base.h"

namespace tenon {

// A failed call: a code of base.h and a message that names the op, the cause and the values.
class Error : public std::exception {
 public:
  Error(uint32_t code, std::string message) : code_(code), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  uint32_t code() const noexcept { return code_; }

 private:
  uint32_t code_;
  std::string message_;
};

namespace detail {

inline tn_str to_str(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline std::string_view to_view(tn_str text) noexcept {
  return {text.data, static_cast<size_t>(text.size)};
}

[[noreturn]] inline void throw_status(tn_status* status) {
  Error error(tn_status_code(status), std::string(to_view(tn_status_message(status))));
  tn_status_release(status);
  throw error;
}

// Throws and frees an error status. Success costs one predictable branch.
inline void check(tn_status* status) {
  if (status != nullptr) [[unlikely]]
    throw_status(status);
}

}  // namespace detail
}  // namespace tenon
#endif
