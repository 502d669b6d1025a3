#include "memory/generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace tenon::test {
namespace {

using tenon::core::Draws;
using tenon::core::reserve_draws;

struct State {
  uint64_t seed, offset;
  bool operator==(const State&) const = default;
};
State state_of(const tn_generator* generator) {
  State state{};
  tn_generator_get_state(generator, &state.seed, &state.offset);
  return state;
}

TEST(Generator, SeedAndStateAreKept) {
  tn_generator* generator = tn_generator_make(42);
  EXPECT_EQ(state_of(generator), (State{42, 0}));
  tn_generator_set_state(generator, 7, 100);
  EXPECT_EQ(state_of(generator), (State{7, 100}));
  tn_generator_seed(generator, 9);
  EXPECT_EQ(state_of(generator), (State{9, 0}));
  EXPECT_EQ(tn_generator_retain(generator), generator);
  tn_generator_release(generator);
  tn_generator_release(generator);
  tn_generator_release(nullptr);
  EXPECT_EQ(tn_generator_retain(nullptr), nullptr);
}

TEST(Generator, AnOpOwnsHalfABlockAnElement) {
  tn_generator* generator = tn_generator_make(1);
  for (uint64_t n : {0, 1, 2, 3, 1000}) {
    const State before = state_of(generator);
    const Draws draws = reserve_draws(generator, n);
    EXPECT_EQ(draws.seed, 1u);
    EXPECT_EQ(draws.offset, before.offset);
    EXPECT_EQ(state_of(generator).offset - before.offset, (n + 1) / 2);
  }
  tn_generator_release(generator);
}

TEST(Generator, NullMeansTheDefaultOne) {
  tn_generator_seed(tn_generator_default(), 5);
  EXPECT_EQ(reserve_draws(nullptr, 10).offset, 0u);
  EXPECT_EQ(state_of(tn_generator_default()), (State{5, 5}));
  EXPECT_EQ(state_of(nullptr), (State{5, 5}));
  tn_generator_get_state(tn_generator_default(), nullptr, nullptr);
}

TEST(Generator, ThreadsNeverShareBlocks) {
  tn_generator* generator = tn_generator_make(0);
  std::vector<std::vector<uint64_t>> offsets(4);
  std::vector<std::thread> threads;
  for (auto& mine : offsets)
    threads.emplace_back([&mine, generator] {
      for (int i = 0; i < 1000; ++i) mine.push_back(reserve_draws(generator, 6).offset);
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<uint64_t> all;
  for (const auto& mine : offsets) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], 3 * i);
  tn_generator_release(generator);
}

}  // namespace
}  // namespace tenon::test
