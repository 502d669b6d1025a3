// plugins/gpu/staging.cpp over a runtime that runs nothing before it must: what the device reads, and when the host waits for it.
#include "staging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <numeric>

#include "timeline.hpp"

namespace {

struct Fake {
  std::deque<std::function<void()>> queue;
  std::vector<char> pinned;
  uint32_t waits = 0;
  int events = 0;
  void run(size_t leave = 0) {
    while (queue.size() > leave) {
      queue.front()();
      queue.pop_front();
    }
  }
} fake;

}  // namespace

namespace tenon::gpu {
namespace rt {

void* host_allocate(uint64_t bytes) {
  fake.pinned.resize(bytes);
  return fake.pinned.data();
}
void host_free(void*) noexcept { fake.pinned.clear(); }
void copy_in(void* to, const void* from, uint64_t bytes, Stream) {
  const auto* const first = static_cast<const char*>(from);
  ASSERT_TRUE(first >= fake.pinned.data() &&
              first + bytes <= fake.pinned.data() + fake.pinned.size());
  fake.queue.emplace_back([=] { std::memcpy(to, from, bytes); });
}
Event event_create() {
  ++fake.events;
  return new bool(false);
}
void event_destroy(Event event) noexcept {
  --fake.events;
  delete static_cast<bool*>(event);
}
void record(Event event, Stream) {
  *static_cast<bool*>(event) = false;
  fake.queue.emplace_back([event] { *static_cast<bool*>(event) = true; });
}
bool reached(Event event) { return *static_cast<bool*>(event); }

}  // namespace rt

void wait_for_event(uint32_t, rt::Event event) {
  if (rt::reached(event)) return;
  ++fake.waits;
  while (!rt::reached(event)) fake.run(fake.queue.size() - 1);
}

}  // namespace tenon::gpu

namespace {

using tenon::gpu::Staging;

std::vector<char> numbers(size_t count, int first) {
  std::vector<char> made(count);
  std::iota(made.begin(), made.end(), static_cast<char>(first));
  return made;
}

TEST(Staging, CopiesWaitForNothingAndTheirSourcesMayBeReused) {
  fake = {};
  Staging staging(0);
  std::vector<std::vector<char>> targets;
  std::vector<char> source;
  for (int i = 0; i < 100; ++i) {
    targets.emplace_back(1000);
    source = numbers(1000, i);
    staging.copy_in(targets.back().data(), source.data(), source.size(), nullptr);
    std::fill(source.begin(), source.end(), 0);
  }
  EXPECT_EQ(fake.waits, 0u);
  fake.run();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(targets[static_cast<size_t>(i)], numbers(1000, i)) << i;
}

TEST(Staging, WhatIsLargerThanItsMemoryWaitsForPiecesOfItself) {
  fake = {};
  Staging staging(0);
  for (const size_t bytes : {size_t{Staging::kPiece}, size_t{Staging::kPiece + 1},
                             size_t{Staging::kBytes + 5}, size_t{3 * Staging::kBytes + 7}}) {
    const std::vector<char> source = numbers(bytes, 3);
    std::vector<char> target(bytes);
    fake.waits = 0;
    staging.copy_in(target.data(), source.data(), bytes, nullptr);
    EXPECT_EQ(fake.waits > 0, bytes > Staging::kBytes) << bytes;
    fake.run();
    EXPECT_EQ(target, source) << bytes;
  }
}

// Odd sizes go round several times; no stretch that is still read is written.
TEST(Staging, NothingIsWrittenBeforeItWasRead) {
  fake = {};
  Staging staging(0);
  std::vector<std::pair<std::vector<char>, std::vector<char>>> copies;
  copies.reserve(200);
  for (int i = 0; i < 200; ++i) {
    const auto bytes = static_cast<size_t>(i % 7 == 0 ? 3'000'001 : 400'003 + 911 * i);
    copies.emplace_back(numbers(bytes, i), std::vector<char>(bytes));
    staging.copy_in(copies.back().second.data(), copies.back().first.data(), bytes, nullptr);
    if (i % 3 == 0) fake.run(fake.queue.size() / 2);
  }
  fake.run();
  for (size_t i = 0; i < copies.size(); ++i) EXPECT_EQ(copies[i].first, copies[i].second) << i;
}

TEST(Staging, ItsEventsAreUsedAgainAndGivenBack) {
  fake = {};
  {
    Staging staging(0);
    char byte = 1, target = 0;
    for (int i = 0; i < 1000; ++i) {
      staging.copy_in(&target, &byte, 1, nullptr);
      fake.run();
    }
    EXPECT_LE(fake.events, 2);
  }
  EXPECT_EQ(fake.events, 0);
  EXPECT_TRUE(fake.pinned.empty());
}

}  // namespace
