// Faults that the layer injects, at every call of a slot, for every n: nothing leaks, and the next run is right.
#include "tenon/validate.h"
#include "tensors.hpp"

namespace tenon::test {
namespace {

struct Faults : testing::Test {
  Device device;
  Tensor start;
  std::vector<float> right;
  uint64_t mark = 0;

  void SetUp() override {
    control_of("faulty");
    device = device_of("faulty");
    tn_fallback_set(TN_FALLBACK_DENY);
    start = on(device, {1, 2, 3});
    right = step(start);
    tn_validate_clear();
    mark = tn_validate_next_serial();
  }
  void TearDown() override {
    tn_validate_inject(nullptr);
    tn_fallback_set(TN_FALLBACK_WARN);
    EXPECT_EQ(tn_validate_count(), 0u);
  }
  std::vector<std::string> live() const {
    std::vector<std::string> blocks;
    tn_validate_each_block(
        mark,
        [](void* ctx, const tn_live_block* block) {
          static_cast<std::vector<std::string>*>(ctx)->push_back(
              test::text(block->device_type) + " " + std::to_string(block->bytes) + " " +
              test::text(block->op));
        },
        &blocks);
    return blocks;
  }
  // Makes each matching call fail in turn until none is left; returns how many there were.
  uint64_t fail_each(std::string_view slot, std::string_view type, uint32_t code, uint64_t times) {
    for (uint64_t n = 1;; ++n) {
      const tn_fault fault = {sizeof(tn_fault), code, str(type), str(slot), n, times};
      tn_validate_inject(&fault);
      const Outcome outcome = outcome_of([&] { EXPECT_EQ(step(start), right); });
      uint64_t failed = 0;
      tn_validate_injected(nullptr, &failed);
      tn_validate_inject(nullptr);
      take(tn_device_synchronize(device.get()));  // the error that a wait inside the allocator met
      EXPECT_TRUE(live().empty()) << slot << " " << n << ": " << live().front();
      EXPECT_EQ(step(start), right) << slot << " " << n;
      if (failed == 0) {
        EXPECT_EQ(outcome.code, TN_OK) << outcome;
        return n - 1;
      }
      if (outcome.code != TN_OK) {
        EXPECT_EQ(outcome.code, code) << slot << " " << n << ": " << outcome;
        EXPECT_TRUE(outcome.message.front() == '[' ||
                    outcome.message.find(".synchronize") !=
                        std::string::npos)  // which belongs to no op
            << outcome;
        EXPECT_NE(outcome.message.find("fault injected"), std::string::npos) << outcome;
      }
      if (n > 500) return ADD_FAILURE() << "no end of " << slot, n;
    }
  }
};

TEST_F(Faults, OutOfMemoryAtEveryAllocation) {
  EXPECT_GE(fail_each("memory.allocate", "faulty", TN_OUT_OF_MEMORY, 1), 5u);
}
TEST_F(Faults, OutOfMemoryFromSomeAllocationOn) {
  EXPECT_GE(fail_each("memory.allocate", "faulty", TN_OUT_OF_MEMORY, 0), 5u);
}
TEST_F(Faults, DeviceLostAtEveryCall) {
  EXPECT_GE(fail_each("", "faulty", TN_DEVICE_LOST, 0), 10u);
}
TEST_F(Faults, EveryRunFails) { EXPECT_GE(fail_each("kernel.run", "", TN_INTERNAL, 1), 5u); }

TEST_F(Faults, CallsAreCounted) {
  const tn_fault count = {sizeof(tn_fault), TN_INTERNAL, str("faulty"), str("kernel.run"), 0, 0};
  tn_validate_inject(&count);
  EXPECT_EQ(step(start), right);
  uint64_t matched = 0, failed = 0;
  tn_validate_injected(&matched, &failed);
  EXPECT_GE(matched, 5u);
  EXPECT_EQ(failed, 0u);
}

TEST_F(Faults, HostMemoryFailsAsWell) {
  const tn_fault fault = {
      sizeof(tn_fault), TN_OUT_OF_MEMORY, str("cpu"), str("memory.allocate"), 1, 0};
  tn_validate_inject(&fault);
  const Outcome outcome = outcome_of([&] { on(Device("cpu"), {1, 2}); });
  tn_validate_inject(nullptr);
  EXPECT_EQ(outcome.code, TN_OUT_OF_MEMORY);
  EXPECT_EQ(read(on(Device("cpu"), {1, 2})), (std::vector<float>{1, 2}));
}

TEST_F(Faults, LiveBlocksAreNamed) {
  const Tensor y = neg(start);
  const std::vector<std::string> blocks = live();
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks.front(), "faulty 12 neg");
}

}  // namespace
}  // namespace tenon::test
