// A fuzz target: what it does with arbitrary bytes. libFuzzer calls it (./dev fuzz NAME), and so does the replay of corpora in the tests.
// It may throw tenon::Error for malformed input, and nothing else.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tenon/error.hpp"

namespace tenon::fuzz {

using Target = void (*)(std::string_view bytes);

// A property of every input. A violation ends the process, like every other fault.
inline void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "breach: %s\n", what);
  std::abort();
}

// How many inputs were accepted and refused: a target that does only one of the two tests nothing.
inline uint64_t taken = 0, refused = 0;

// Returns true if the input was accepted, false if it was refused properly.
template <class Fn>
bool accepted(Fn&& fn) {
  try {
    fn();
    ++taken;
    return true;
  } catch (const Error& error) {
    ++refused;
    require(error.code() != TN_INTERNAL, error.what());
    require(std::strlen(error.what()) > 0, "an error without a message");
    return false;
  }
}

// Takes the bytes that steer a target off the front of the input.
class Steering {
 public:
  explicit Steering(std::string_view bytes) : bytes_(bytes) {}
  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto first = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

// The targets of the replay, by name.
bool add_target(const char* name, Target target);

}  // namespace tenon::fuzz

#ifdef TENON_LIBFUZZER
#define TENON_FUZZ_ENTRY(name)                                               \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {  \
    tenon::fuzz::name##_target({reinterpret_cast<const char*>(data), size}); \
    return 0;                                                                \
  }
#else
#define TENON_FUZZ_ENTRY(name)                         \
  [[maybe_unused]] static const bool name##_is_known = \
      tenon::fuzz::add_target(#name, tenon::fuzz::name##_target);
#endif

// TENON_FUZZ_TARGET(csv) { … bytes … }
#define TENON_FUZZ_TARGET(name)                      \
  namespace tenon::fuzz {                            \
  static void name##_target(std::string_view bytes); \
  }                                                  \
  TENON_FUZZ_ENTRY(name)                             \
  static void tenon::fuzz::name##_target(std::string_view bytes)
