#include <gtest/gtest.h>

#include "fake_device.hpp"
#include "outcome.hpp"

namespace tenon::test {
namespace {

using namespace tenon::core;

TEST(Device, TheHostIsAlwaysThere) {
  ASSERT_GE(tn_device_count(), 1u);
  tn_device* host = tn_device_at(0);
  EXPECT_EQ(text(tn_device_id(host)), "cpu:0");
  EXPECT_EQ(text(tn_device_plugin(host)), "core");
  EXPECT_EQ(host, &host_device());
  EXPECT_TRUE(host->addressable);
  for (const char* name : {"cpu", "cpu:0"}) {
    tn_device* found = nullptr;
    ASSERT_EQ(tn_device_find(str(name), &found), nullptr);
    EXPECT_EQ(found, host);
  }
  EXPECT_EQ(tn_device_synchronize(host), nullptr);
  EXPECT_EQ(tn_device_at(100000), nullptr);
}

TEST(Device, TheHostKnowsItself) {
  tn_device_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(tn_device_get_info(&host_device(), &info), nullptr);
  EXPECT_EQ(info.kind, TN_DEVICE_KIND_CPU);
  EXPECT_GT(info.name.size, 0u);
  EXPECT_GT(info.memory_total, 0u);
  EXPECT_LE(info.memory_free, info.memory_total);
  EXPECT_GE(info.compute_units, 1u);
  EXPECT_EQ(info.dtypes, TN_MASK_ALL | TN_MASK_F8);
}

TEST(Device, AnOlderProgramsInfoIsFilledAsFarAsItGoes) {
  tn_device_info info;
  std::memset(&info, 0x5a, sizeof info);
  info.struct_size = offsetof(tn_device_info, memory_total);
  ASSERT_EQ(tn_device_get_info(&host_device(), &info), nullptr);
  EXPECT_EQ(info.struct_size, offsetof(tn_device_info, memory_total));
  EXPECT_EQ(info.kind, TN_DEVICE_KIND_CPU);
  EXPECT_EQ(info.memory_total, 0x5a5a5a5a5a5a5a5au);
}

TEST(Device, AnUnknownNameListsTheDevices) {
  FakeDevice fake("found");
  fake.add();
  for (const char* name : {"nothing", "cpu:1", "cpu:x", "cpu:", "", "found:1", "cpu:0:0", "CPU"}) {
    tn_device* found = nullptr;
    const auto [code, message] = take(tn_device_find(str(name), &found));
    EXPECT_EQ(code, TN_NOT_FOUND) << name;
    EXPECT_NE(message.find("no device \"" + std::string(name) + "\""), std::string::npos)
        << message;
    EXPECT_NE(message.find("cpu:0"), std::string::npos) << message;
    EXPECT_NE(message.find("found:0"), std::string::npos) << message;
  }
  fake.remove();
}

TEST(Device, AutoSaysWhy) {
  std::string line;
  tn_device* best = tn_device_best(
      [](void* to, tn_str chunk) { *static_cast<std::string*>(to) += text(chunk); }, &line);
  ASSERT_NE(best, nullptr);
  EXPECT_TRUE(line.starts_with(best->id + " (")) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  tn_device* found = nullptr;
  ASSERT_EQ(tn_device_find(str("auto"), &found), nullptr);
  EXPECT_EQ(found, best);
}

// The fake device is of a kind that is preferred to the CPU. What "auto" chooses depends on the installed plugins; best_test.cpp tests
// that.
TEST(Device, ADeviceWithoutKernelsIsNotChosen) {
  FakeDevice fake("kernelless");
  tn_device* const device = &fake.add();
  EXPECT_NE(tn_device_best(nullptr, nullptr), device);
  fake.remove();
}

TEST(DeviceType, NamesAreCheckedAndUnique) {
  for (const char* name : {"", "auto", "Big", "a:b", "a b"})
    EXPECT_NE(error_of([&] { FakeDevice(name).add(); }, TN_INVALID_ARGUMENT).find("device type"),
              std::string::npos);
  EXPECT_EQ(error_of([] { FakeDevice("cpu").add(); }, TN_ALREADY_EXISTS),
            "device type \"cpu\" belongs to plugin \"core\" already");
}

TEST(DeviceType, MissingTablesAreAnswersNotCrashes) {
  FakeDevice fake("tableless");
  fake.type.memory = nullptr;
  tn_device& device = fake.add();
  EXPECT_NE(error_of([&] { allocate(device, 64); }, TN_UNIMPLEMENTED).find("memory.allocate"),
            std::string::npos);
  fake.remove();
  FakeDevice none("deviceless");
  none.type.device = nullptr;
  EXPECT_NE(error_of([&] { none.add(); }, TN_UNIMPLEMENTED).find("device.count"),
            std::string::npos);
}

TEST(DeviceType, ComesBackWithTheSameHandle) {
  FakeDevice fake("phoenix", true);
  tn_device* first = &fake.add();
  const uint32_t id = first->type->id;
  for (int cycle = 0; cycle < 40; ++cycle) {  // more cycles than there are ids
    fake.remove();
    EXPECT_EQ(tn_status_code(std::unique_ptr<tn_status, void (*)(tn_status*)>(
                                 tn_device_synchronize(first), tn_status_release)
                                 .get()),
              TN_FAILED_PRECONDITION);
    tn_device* again = &fake.add();
    ASSERT_EQ(again, first);
    ASSERT_EQ(again->type->id, id);
  }
  fake.remove();
}

TEST(DeviceType, StaysWhileMemoryLives) {
  FakeDevice fake("busy");
  tn_device& device = fake.add();
  const Block block = allocate(device, 100);
  const std::string message = error_of([&] { fake.remove(); }, TN_FAILED_PRECONDITION);
  EXPECT_NE(message.find("live on busy:0"), std::string::npos) << message;
  deallocate(device, block);
  fake.remove();
  EXPECT_NE(error_of([&] { allocate(device, 100); }, TN_FAILED_PRECONDITION), "");
}

}  // namespace
}  // namespace tenon::test
