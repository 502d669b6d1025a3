// Random number generators: Philox 4x32-10, the same numbers on every backend.
#ifndef TENON_RANDOM_HPP
#define TENON_RANDOM_HPP

#include <cstdint>
#include <utility>

#include "tenon/random.h"

namespace tenon {

// A shared handle. As an optional argument, an undefined one means the process's default generator.
class Generator {
 public:
  struct State {
    uint64_t seed = 0;
    uint64_t offset = 0;  // 128-bit blocks used so far
  };

  Generator() noexcept = default;
  explicit Generator(uint64_t seed) : handle_(tn_generator_make(seed)) {}
  Generator(const Generator& other) noexcept : handle_(retained(other.handle_)) {}
  Generator(Generator&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Generator& operator=(Generator other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Generator() {
    if (handle_ != nullptr) tn_generator_release(handle_);
  }
  // Another reference to a handle of the C ABI.
  static Generator share(tn_generator* handle) noexcept {
    Generator generator;
    generator.handle_ = retained(handle);
    return generator;
  }

  bool defined() const noexcept { return handle_ != nullptr; }
  tn_generator* get() const noexcept { return handle_; }
  // Returns *this, so that `Generator().seed(0)` is a value.
  Generator& seed(uint64_t seed) {
    tn_generator_seed(handle(), seed);
    return *this;
  }
  State state() const {
    State state;
    tn_generator_get_state(handle(), &state.seed, &state.offset);
    return state;
  }
  void set_state(State state) { tn_generator_set_state(handle(), state.seed, state.offset); }

 private:
  static tn_generator* retained(tn_generator* handle) noexcept {
    return handle != nullptr ? tn_generator_retain(handle) : nullptr;
  }
  tn_generator* handle() const { return handle_ != nullptr ? handle_ : tn_generator_default(); }
  tn_generator* handle_ = nullptr;
};

inline Generator default_generator() { return Generator::share(tn_generator_default()); }
// Seeds the default generator.
inline void manual_seed(uint64_t seed) { tn_generator_seed(tn_generator_default(), seed); }

}  // namespace tenon
#endif
