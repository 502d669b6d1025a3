// plugins/gpu/staging.cpp over a runtime that runs work only when it must: what the device reads, and when the host waits.
#include "staging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <numeric>

#include "timeline.hpp"

namespace {

// The stream on which programs compute; every other stream carries copies.
constexpr void* kComputing = nullptr;

struct Work {
  std::function<bool()> ready;
  std::function<void()> run;
};
struct Moment {
  uint64_t recorded = 0, reached = 0;
};

struct Fake {
  std::map<void*, std::deque<Work>> queues;
  bool crossing_first = false;  // otherwise copies run only when the other stream waits for them
  std::vector<char> pinned, landing;
  uint64_t memory = UINT64_MAX;  // the device's
  uint32_t waits = 0;
  int events = 0, streams = 0;

  void push(
      void* stream, std::function<void()> run, std::function<bool()> ready = [] { return true; }) {
    queues[stream].push_back({std::move(ready), std::move(run)});
  }
  bool step(void* stream) {
    std::deque<Work>& queue = queues[stream];
    if (queue.empty() || !queue.front().ready()) return false;
    queue.front().run();
    queue.pop_front();
    return true;
  }
  bool step_crossing() {
    return std::any_of(queues.begin(), queues.end(), [&](const auto& queue) {
      return queue.first != kComputing && step(queue.first);
    });
  }
  bool step_any() {
    return crossing_first ? step_crossing() || step(kComputing)
                          : step(kComputing) || step_crossing();
  }
  size_t left() { return queues[kComputing].size(); }
  void run(size_t leave = 0) {
    while (left() > leave)
      if (!step_any()) return;
  }
} fake;

bool lies_in(const void* at, uint64_t bytes, const std::vector<char>& memory) {
  const auto* const first = static_cast<const char*>(at);
  return first >= memory.data() && first + bytes <= memory.data() + memory.size();
}

}  // namespace

namespace tenon::gpu {
namespace rt {

void* host_allocate(uint64_t bytes) {
  fake.pinned.resize(bytes);
  return fake.pinned.data();
}
void host_free(void*) noexcept { fake.pinned.clear(); }
void* allocate(uint64_t bytes) {
  if (bytes > fake.memory) return nullptr;
  fake.landing.resize(bytes);
  return fake.landing.data();
}
void free(void*) noexcept { fake.landing.clear(); }
void copy_in(void* to, const void* from, uint64_t bytes, Stream stream) {
  ASSERT_TRUE(lies_in(from, bytes, fake.pinned));
  ASSERT_EQ(lies_in(to, bytes, fake.landing), stream != kComputing);
  fake.push(stream, [=] { std::memcpy(to, from, bytes); });
}
void copy_within(void* to, const void* from, uint64_t bytes, Stream stream) {
  ASSERT_TRUE(lies_in(from, bytes, fake.landing) && stream == kComputing);
  fake.push(stream, [=] { std::memcpy(to, from, bytes); });
}
Stream stream_create() {
  ++fake.streams;
  return new char;
}
void stream_destroy(Stream stream) noexcept {
  --fake.streams;
  fake.queues.erase(stream);
  delete static_cast<char*>(stream);
}
Event event_create() {
  ++fake.events;
  return new Moment;
}
void event_destroy(Event event) noexcept {
  --fake.events;
  delete static_cast<Moment*>(event);
}
void record(Event event, Stream stream) {
  auto& mark = *static_cast<Moment*>(event);
  fake.push(stream, [&mark, number = ++mark.recorded] { mark.reached = number; });
}
// For its state at this moment: an event may be recorded again while streams wait for it.
void wait(Stream stream, Event event) {
  auto& mark = *static_cast<Moment*>(event);
  fake.push(
      stream, [] {}, [&mark, number = mark.recorded] { return mark.reached >= number; });
}
bool reached(Event event) {
  const auto& mark = *static_cast<Moment*>(event);
  return mark.reached == mark.recorded;
}

}  // namespace rt

void wait_for_event(uint32_t, rt::Event event) {
  if (rt::reached(event)) return;
  ++fake.waits;
  while (!rt::reached(event)) ASSERT_TRUE(fake.step_any());
}

}  // namespace tenon::gpu

namespace {

using tenon::gpu::Staging;

// Runs one stream before the other, or the other way round.
class StagingInOrder : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    fake = {};
    fake.crossing_first = GetParam();
  }
};
INSTANTIATE_TEST_SUITE_P(Orders, StagingInOrder, testing::Bool());

std::vector<char> numbers(size_t count, int first) {
  std::vector<char> made(count);
  std::iota(made.begin(), made.end(), static_cast<char>(first));
  return made;
}

TEST_P(StagingInOrder, CopiesWaitForNothingAndTheirSourcesMayBeReused) {
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

TEST_P(StagingInOrder, LargeCopiesWaitForTheirOwnPieces) {
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

// Odd sizes go around the ring several times; no stretch that is still being read is written.
TEST_P(StagingInOrder, NothingIsWrittenBeforeItWasRead) {
  Staging staging(0);
  std::vector<std::pair<std::vector<char>, std::vector<char>>> copies;
  copies.reserve(200);
  for (int i = 0; i < 200; ++i) {
    const auto bytes = static_cast<size_t>(i % 7 == 0 ? 3'000'001 : 400'003 + 911 * i);
    copies.emplace_back(numbers(bytes, i), std::vector<char>(bytes));
    staging.copy_in(copies.back().second.data(), copies.back().first.data(), bytes, nullptr);
    if (i % 3 == 0) fake.run(fake.left() / 2);
  }
  fake.run();
  for (size_t i = 0; i < copies.size(); ++i) EXPECT_EQ(copies[i].first, copies[i].second) << i;
}

// Work that the stream does meanwhile may read and write the target.
TEST(Staging, LongCopiesCrossWhileTheStreamComputes) {
  fake = {};
  Staging staging(0);
  bool computed = false;
  std::vector<char> target(Staging::kLong, 9), seen;
  fake.push(
      kComputing, [&] { seen = target; }, [&] { return computed; });
  std::vector<char> source = numbers(Staging::kLong, 1);
  staging.copy_in(target.data(), source.data(), source.size(), kComputing);
  std::fill(source.begin(), source.end(), 0);
  fake.run();
  const std::vector<char> expected = numbers(Staging::kLong, 1), before(Staging::kLong, 9);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), fake.landing.begin()));
  EXPECT_EQ(target, before);
  computed = true;
  fake.run();
  EXPECT_EQ(seen, before);
  EXPECT_EQ(target, expected);
  EXPECT_EQ(fake.waits, 0u);
}

TEST(Staging, ShortCopiesAndThoseToAFullDeviceStayOnTheirStream) {
  fake = {};
  fake.memory = 0;
  Staging staging(0);
  for (const uint64_t bytes : {Staging::kLong - 1, Staging::kLong, Staging::kPiece + 1}) {
    const std::vector<char> source = numbers(bytes, 1);
    std::vector<char> target(bytes);
    staging.copy_in(target.data(), source.data(), bytes, kComputing);
    EXPECT_EQ(fake.streams, bytes < Staging::kLong ? 0 : 1);
    fake.run();
    EXPECT_EQ(target, source);
  }
  EXPECT_TRUE(fake.landing.empty());
}

TEST(Staging, WhatItTookIsUsedAgainAndGivenBack) {
  fake = {};
  {
    Staging staging(0);
    std::vector<char> source(Staging::kLong), target(Staging::kLong);
    for (int i = 0; i < 1000; ++i) {
      const uint64_t bytes = i % 2 == 0 ? 1 : Staging::kLong;
      staging.copy_in(target.data(), source.data(), bytes, kComputing);
      fake.run();
    }
    EXPECT_LE(fake.events, 3);
    EXPECT_EQ(fake.streams, 1);
  }
  EXPECT_EQ(fake.events + fake.streams, 0);
  EXPECT_TRUE(fake.pinned.empty() && fake.landing.empty());
}

}  // namespace
