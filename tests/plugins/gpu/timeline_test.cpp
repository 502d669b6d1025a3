// Device times without a device: events over a runtime whose progress the test controls.
#include "timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace tenon::gpu {

extern rt::Stream captured;

namespace {

struct Recorded {
  double at = 0;  // on the device's clock
};

// Enqueued work takes one second of the stream's time, and completes when the test lets the device run.
struct Fake {
  double enqueued = 0, done = 0;
  uint32_t events = 0, waits = 0;
  std::set<Recorded*> alive;
} fake;

struct Told {
  uint32_t kind;
  std::string op, what;
  uint64_t tag;
  double start, end;
  uint64_t bytes;
};

// A call on (2, 3) f32, whose rows share their memory, with a result of two elements.
struct Call {
  int64_t shape[2] = {2, 3}, repeated[2] = {0, 1}, apart[1] = {1};
  tn_view x = {}, y = {};
  tn_view* outs[1] = {&y};
  tn_value args[1] = {};
  tn_call call = {};
  Call() {
    x.dtype = y.dtype = TN_DTYPE_F32;
    x.ndim = 2, x.shape = shape, x.strides = repeated;
    y.ndim = 1, y.shape = shape, y.strides = apart;
    args[0].tag = TN_VALUE_VIEW, args[0].as.view = &x;
    call.nargs = call.nouts = 1, call.args = args, call.outs = outs;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

std::vector<Told> stop() {
  std::vector<Told> told;
  profile().stop(
      [](void* to, const tn_profiler_span* span) {
        static_cast<std::vector<Told>*>(to)->push_back(
            {span->kind, std::string(span->op.data, span->op.size),
             std::string(span->what.data, span->what.size), span->tag, span->start, span->end,
             span->bytes});
      },
      &told);
  return told;
}

void launch() {
  fake.enqueued += 1;
  Timed::launched();
}

class Timeline : public testing::Test {
 protected:
  void SetUp() override { fake = Fake(); }
  void TearDown() override {
    clear_timelines();
    EXPECT_TRUE(fake.alive.empty());
  }
};

TEST_F(Timeline, WhatIsCapturedDoesNotRun) {
  int stream = 0;
  captured = &stream;
  profile().start();
  {
    const Timed call(0, &stream, "reduce");
    launch();
  }
  EXPECT_TRUE(stop().empty());
  EXPECT_EQ(fake.events, 0u);
  captured = nullptr;
}

TEST_F(Timeline, CostsNoEventWhileNobodyListens) {
  const Timed call(0, nullptr, "reduce");
  launch();
  wait_for(0, nullptr);
  EXPECT_EQ(fake.events, 0u);
}

TEST_F(Timeline, LaunchesAreToldEach) {
  profile().start();
  Profile::label().tag = 7;
  const Call sum;
  {
    const Labelled op("sum(Tensor x)", sum.call);
    const Timed call(0, nullptr, "reduce");
    launch();
    launch();
  }
  fake.enqueued += 10;  // belongs to no call
  {
    const Timed copy(0, nullptr, "copy in");
    fake.enqueued += 3;
  }
  EXPECT_EQ(fake.waits, 0u);
  const std::vector<Told> told = stop();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].op, "sum");
  EXPECT_EQ(told[0].what, "reduce");
  EXPECT_EQ(told[0].tag, 7u);
  EXPECT_EQ(told[0].bytes, 3u * 4 + 2u * 4);  // each element is counted once
  EXPECT_EQ(told[1].bytes, 0u);
  EXPECT_EQ(told[1].start, told[0].end);
  EXPECT_EQ(told[1].end - told[0].start, 2);
  EXPECT_EQ(told[2].op, "");
  EXPECT_EQ(told[2].start - told[1].end, 10);
  EXPECT_EQ(told[2].end - told[2].start, 3);
}

TEST_F(Timeline, ACopyWithinACallIsToldByItself) {
  profile().start();
  const Call nonzero;
  {
    const Labelled op("nonzero", nonzero.call);
    const Timed call(0, nullptr, "compact");
    launch();
    {
      const Timed copy(0, nullptr, "copy out");
      fake.enqueued += 2;
    }
    launch();
  }
  const std::vector<Told> told = stop();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[1].op + " " + told[1].what, "nonzero copy out");
  EXPECT_EQ(told[1].end - told[1].start, 2);
  EXPECT_EQ(told[2].what, "compact");
  EXPECT_EQ(told[2].end - told[2].start, 1);
}

TEST_F(Timeline, EventsAreReusedIfTheDeviceKeepsUp) {
  profile().start();
  for (int i = 0; i < 10'000; ++i) {
    const Timed call(0, nullptr, "binary");
    launch();
    fake.done = fake.enqueued - 5;
  }
  EXPECT_LT(fake.events, 1000u);
  EXPECT_EQ(fake.waits, 0u);
  const std::vector<Told> told = stop();
  ASSERT_EQ(told.size(), 10'000u);
  for (size_t i = 0; i < told.size(); ++i) {
    ASSERT_EQ(told[i].end - told[i].start, 1) << i;
    ASSERT_EQ(told[i].start, i == 0 ? told[0].start : told[i - 1].end) << i;
  }
}

TEST_F(Timeline, StreamsOfADeviceShareAClock) {
  int other = 0;
  profile().start();
  for (int i = 0; i < 3; ++i) {
    for (const rt::Stream stream : {rt::Stream(nullptr), rt::Stream(&other)}) {
      const Timed call(0, stream, stream == nullptr ? "binary" : "unary");
      launch();
    }
  }
  const std::vector<Told> told = stop();
  ASSERT_EQ(told.size(), 6u);
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].what, i % 2 == 0 ? "binary" : "unary");
    EXPECT_EQ(told[i].start, told[0].start + static_cast<double>(i));
  }
}

TEST_F(Timeline, AWaitIsReportedOnce) {
  profile().start();
  {
    const Timed call(0, nullptr, "binary");
    launch();
  }
  wait_for(0, nullptr);
  wait_for(0, nullptr);  // waits for nothing
  EXPECT_EQ(fake.waits, 2u);
  const std::vector<Told> told = stop();
  EXPECT_EQ(std::count_if(told.begin(), told.end(),
                          [](const Told& t) { return t.kind == TN_PROFILER_WAITED; }),
            1);
}

TEST_F(Timeline, CallsThatWaitAreReported) {
  profile().start();
  for (const bool waits : {false, true}) {
    {
      const Timed call(0, nullptr, "binary");
      launch();
    }
    const MaybeWait here(0);  // like cudaFree
    if (waits) fake.done = fake.enqueued;
  }
  { const MaybeWait idle(0); }
  const std::vector<Told> told = stop();
  EXPECT_EQ(std::count_if(told.begin(), told.end(),
                          [](const Told& t) { return t.kind == TN_PROFILER_WAITED; }),
            1);
}

}  // namespace

namespace rt {

void use(uint32_t) {}
Event event_create() {
  ++fake.events;
  auto* const made = new Recorded;
  fake.alive.insert(made);
  return made;
}
void event_destroy(Event event) noexcept {
  fake.alive.erase(static_cast<Recorded*>(event));
  delete static_cast<Recorded*>(event);
}
void record(Event event, Stream) { static_cast<Recorded*>(event)->at = fake.enqueued; }
bool reached(Event event) { return static_cast<Recorded*>(event)->at <= fake.done; }
double seconds_between(Event start, Event end) {
  return static_cast<Recorded*>(end)->at - static_cast<Recorded*>(start)->at;
}
void synchronize(Stream) {
  ++fake.waits;
  fake.done = fake.enqueued;
}
void synchronize_device() { synchronize(nullptr); }
void synchronize_event(Event) { synchronize(nullptr); }

}  // namespace rt

rt::Stream captured = nullptr;
bool is_captured(rt::Stream stream) { return captured != nullptr && stream == captured; }
void refuse_captured(rt::Stream, std::string_view) {}

}  // namespace tenon::gpu

const tenon::Profiled tenon::kProfiled = {"fake", [] {},
                                          [] {
                                            tenon::gpu::fake.done = tenon::gpu::fake.enqueued;
                                            tenon::gpu::read_timelines();
                                          }};
