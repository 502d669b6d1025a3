// A running backend that fails: the result is a typed error with the op's name, tensors of other devices stay usable, and nothing leaks.
#include <cstdio>

#include "tensors.hpp"

namespace tenon::test {
namespace {

// With caching and without addresses, and the other way round.
class Failing : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    control_ = &control_of(GetParam());
    *control_ = FaultyControl{.blocks = control_->blocks,
                              .bytes = control_->bytes,
                              .streams = control_->streams,
                              .events = control_->events,
                              .plans = control_->plans};
    device_ = device_of(GetParam());
    tn_fallback_set(TN_FALLBACK_DENY);
    start_ = on(device_, {1, 2, 3});
    right_ = step(start_);
    device_.trim_memory();
    used_ = device_.memory().used;
    blocks_ = control_->blocks;
  }
  void TearDown() override {
    tn_fallback_set(TN_FALLBACK_WARN);
    heal();
    start_ = Tensor();
    device_.trim_memory();
    EXPECT_EQ(control_->blocks, 0);
    const std::string id = std::string("test.") + GetParam();
    const Outcome quiesced = take(tn_plugin_quiesce(str(id)));
    EXPECT_EQ(quiesced.code, TN_OK) << quiesced;
    EXPECT_EQ(control_->streams, 0);
    EXPECT_EQ(control_->plans, 0);
    const Outcome again =
        take(tn_plugin_load(str(std::string(FAULTY_PLUGINS "/plugin_") + GetParam() + ".so")));
    EXPECT_EQ(again.code, TN_OK) << again;
  }
  // The device answers again; an error met by a wait inside the allocator is reported, then forgotten.
  void heal() {
    control_->lost = false;
    control_->fail_at = control_->fail_allocation = 0;
    control_->fails_later = control_->throws = nullptr;
    control_->anonymous = false;
    control_->capacity = ~0ull;
    while (take(tn_device_synchronize(device_.get())).code != TN_OK) {
    }
  }
  // Freed blocks are cached, except in a build for sanitizers.
  bool caches() const { return device_.memory().held > device_.memory().used; }
  void expect_whole(const Outcome& after) {
    device_.trim_memory();
    EXPECT_EQ(device_.memory().used, used_) << after;
    EXPECT_EQ(control_->blocks, blocks_) << after;
    EXPECT_EQ(step(start_), right_) << after;
  }

  FaultyControl* control_ = nullptr;
  Device device_;
  Tensor start_;
  std::vector<float> right_;
  uint64_t used_ = 0;
  int64_t blocks_ = 0;
};

TEST_P(Failing, DeviceLostOnAnyCall) {
  const Tensor elsewhere = on(Device("cpu"), {7, 8});
  uint64_t n = 0;
  for (bool reached = true; reached; ++n) {
    ASSERT_LT(n, 500u);
    control_->calls = 0;
    control_->fail_at = n + 1;
    control_->code = TN_DEVICE_LOST;
    const Outcome outcome = outcome_of([&] { EXPECT_EQ(step(start_), right_); });
    reached = control_->lost;
    if (reached) {
      EXPECT_EQ(read(elsewhere), (std::vector<float>{7, 8}));
      if (outcome.code != TN_OK) {
        EXPECT_EQ(outcome.code, TN_DEVICE_LOST) << outcome;
        EXPECT_TRUE(outcome.message.starts_with("[") ||
                    outcome.message.find(".synchronize") !=
                        std::string::npos)  // which belongs to no op
            << outcome;
        // It stays lost, and every call says so.
        const Outcome again = outcome_of([&] { step(start_); });
        EXPECT_EQ(again.code, TN_DEVICE_LOST) << again;
      }
    }
    heal();
    expect_whole(outcome);
  }
  EXPECT_GE(n, 15u);
}

TEST_P(Failing, OutOfMemoryAtAnyAllocation) {
  uint64_t n = 0, errors = 0;
  for (bool reached = true; reached; ++n) {
    ASSERT_LT(n, 500u);
    device_.trim_memory();  // so that every tensor needs the device
    control_->allocations = 0;
    control_->fail_allocation = n + 1;
    const Outcome outcome = outcome_of([&] { EXPECT_EQ(step(start_), right_); });
    reached = control_->allocations >= n + 1;
    if (outcome.code != TN_OK) {
      ++errors;
      EXPECT_EQ(outcome.code, TN_OUT_OF_MEMORY) << outcome;
      EXPECT_TRUE(outcome.message.starts_with("[")) << outcome;
      EXPECT_NE(outcome.message.find("out of memory on"), std::string::npos) << outcome;
    }
    heal();
    expect_whole(outcome);
  }
  EXPECT_GE(n, 4u);
  EXPECT_GE(errors, 2u);
}

// Cached blocks are returned to the device before an allocation fails for good.
TEST_P(Failing, TheAllocatorTriesAgain) {
  {
    const Tensor large =
        mul(on(device_, std::vector<float>(4096)), on(device_, std::vector<float>(4096)));
  }
  if (!caches()) GTEST_SKIP() << "the allocator is plain here: nothing is cached";
  const uint64_t retries = device_.memory().retries;
  control_->capacity = static_cast<uint64_t>(control_->bytes) + 1024;
  const Tensor other = on(device_, std::vector<float>(6000));
  EXPECT_EQ(device_.memory().retries, retries + 1);
  control_->capacity = static_cast<uint64_t>(control_->bytes);
  const Outcome full = outcome_of([&] { add(other, other); });
  EXPECT_EQ(full.code, TN_OUT_OF_MEMORY) << full;
  EXPECT_TRUE(full.message.starts_with("[add]")) << full;
}

// An error of the device that the allocator meets while it waits is not lost: the next synchronise reports it.
TEST_P(Failing, ErrorsInTheAllocatorAreReported) {
  { const Tensor cached = mul(start_, start_); }
  if (!caches()) GTEST_SKIP() << "the allocator is plain here: nothing is cached";
  control_->fails_later = "neg";
  const Tensor y = neg(start_);
  device_.trim_memory();  // waits
  control_->fails_later = nullptr;
  const Outcome told = take(tn_device_synchronize(device_.get()));
  EXPECT_EQ(told.code, TN_INTERNAL) << told;
  EXPECT_TRUE(told.message.starts_with("[neg]")) << told;
  EXPECT_EQ(take(tn_device_synchronize(device_.get())).code, TN_OK);
}

TEST_P(Failing, AsynchronousErrorsSurfaceWithTheOpsName) {
  control_->fails_later = "mul";
  Tensor y;
  const Outcome enqueued = outcome_of([&] { y = add(mul(start_, start_), start_); });
  EXPECT_EQ(enqueued.code, TN_OK) << enqueued;  // nothing has run yet
  const Outcome told = outcome_of([&] { read(y); });
  EXPECT_EQ(told.code, TN_INTERNAL) << told;
  EXPECT_NE(told.message.find("[mul] the device stopped"), std::string::npos) << told;
  y = Tensor();
  const Outcome in_backward = outcome_of([&] {
    Tensor x = start_.clone().detach();
    x.requires_grad_();
    mul(x, x).backward(start_);
    device_.synchronize();
  });
  EXPECT_TRUE(in_backward.message.starts_with("[mul]")) << in_backward;
  heal();
  expect_whole(told);
}

// A backend seldom knows which op its stream was running: the core adds what it knows.
TEST_P(Failing, AnAsynchronousErrorWithoutANameGetsOne) {
  control_->fails_later = "mul";
  control_->anonymous = true;
  const Outcome enqueued = outcome_of([&] { neg(mul(start_, start_)); });
  EXPECT_EQ(enqueued.code, TN_OK) << enqueued;
  const Outcome told = take(tn_device_synchronize(device_.get()));
  EXPECT_EQ(told.code, TN_INTERNAL) << told;
  // An allocator that caches nothing has waited for mul before neg is enqueued.
  const std::string last = caches() ? "[neg]" : "[mul]";
  EXPECT_EQ(told.message,
            last + " or an op enqueued before it: the device stopped in the middle of it");
  EXPECT_EQ(take(tn_device_synchronize(device_.get())).code, TN_OK);
}

TEST_P(Failing, ExceptionsStopAtTheBarrier) {
  control_->throws = "mul";
  const Outcome forward = outcome_of([&] { mul(start_, start_); });
  EXPECT_EQ(forward.code, TN_INTERNAL) << forward;
  EXPECT_EQ(forward.message, "[mul] mul could not go on");
  control_->throws = nullptr;
  Tensor x = start_.clone().detach();
  x.requires_grad_();
  Tensor y = mul(x, x);
  control_->throws = "mul";
  const Outcome backward = outcome_of([&] { y.backward(start_); });
  EXPECT_EQ(backward.code, TN_INTERNAL) << backward;
  EXPECT_TRUE(backward.message.starts_with("[mul]")) << backward;
  EXPECT_FALSE(x.grad().defined());
  x = y = Tensor();
  heal();
  expect_whole(backward);
}

INSTANTIATE_TEST_SUITE_P(Memory, Failing, testing::Values("faulty", "remote"),
                         [](const auto& info) { return std::string(info.param); });

// ---- TENON_VALIDATE=1

// Run by the test below, in a process of its own.
TEST(Environment, DISABLED_Child) {
  FaultyControl& control = control_of("faulty");
  control.misdeed = Misdeed::SkipsElement;
  const Outcome outcome = outcome_of([&] { neg(on(device_of("faulty"), {1, 2, 3})); });
  std::printf("outcome %u %s\n", outcome.code, outcome.message.c_str());
}

std::string child_output(const std::string& environment) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = environment + " '" + self +
                              "' --gtest_also_run_disabled_tests "
                              "--gtest_filter=Environment.DISABLED_Child 2>&1";
  std::string output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe) != nullptr) output += line;
  EXPECT_EQ(pclose(pipe), 0) << output;
  return output;
}

TEST(Environment, OpensTheLayer) {
  ASSERT_TRUE(std::filesystem::exists(VALIDATE_LAYER));
  const std::string without = child_output("TENON_VALIDATE=0");
  EXPECT_NE(without.find("outcome 0"), std::string::npos) << without;
  EXPECT_EQ(without.find("validate:"), std::string::npos) << without;
  const std::string with = child_output("TENON_VALIDATE=1");
  EXPECT_NE(with.find("tenon: error: validate: [neg] plugin \"test.faulty\", kernel.run: 1 of 3 "
                      "elements of output 0 were not written, the first at 2"),
            std::string::npos)
      << with;
  EXPECT_NE(with.find("outcome 11 [neg] plugin"), std::string::npos) << with;
}

}  // namespace
}  // namespace tenon::test
