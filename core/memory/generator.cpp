#include "memory/generator.hpp"

#include <atomic>
#include <mutex>
#include <new>

// Seed and offset change together, hence the lock; one reservation serves a whole op.
struct tn_generator {
  std::atomic<uint32_t> refs{1};
  mutable std::mutex mutex;
  uint64_t seed = 0;
  uint64_t offset = 0;
};

namespace tenon::core {

Draws reserve_draws(tn_generator* generator, uint64_t elements) noexcept {
  if (generator == nullptr) generator = tn_generator_default();
  const std::lock_guard lock(generator->mutex);
  const Draws draws{generator->seed, generator->offset};
  generator->offset += elements / 2 + elements % 2;
  return draws;
}

}  // namespace tenon::core

tn_generator* tn_generator_make(uint64_t seed) {
  auto* generator = new (std::nothrow) tn_generator;
  if (generator != nullptr) generator->seed = seed;
  return generator;
}

tn_generator* tn_generator_retain(tn_generator* generator) {
  if (generator != nullptr) generator->refs.fetch_add(1, std::memory_order_relaxed);
  return generator;
}

void tn_generator_release(tn_generator* generator) {
  if (generator != nullptr && generator->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete generator;
}

tn_generator* tn_generator_default(void) {
  static tn_generator generator;  // keeps a reference to itself for good
  return &generator;
}

void tn_generator_seed(tn_generator* generator, uint64_t seed) {
  tn_generator_set_state(generator, seed, 0);
}

void tn_generator_get_state(const tn_generator* generator, uint64_t* seed, uint64_t* offset) {
  if (generator == nullptr) generator = tn_generator_default();
  const std::lock_guard lock(generator->mutex);
  if (seed != nullptr) *seed = generator->seed;
  if (offset != nullptr) *offset = generator->offset;
}

void tn_generator_set_state(tn_generator* generator, uint64_t seed, uint64_t offset) {
  if (generator == nullptr) generator = tn_generator_default();
  const std::lock_guard lock(generator->mutex);
  generator->seed = seed;
  generator->offset = offset;
}
