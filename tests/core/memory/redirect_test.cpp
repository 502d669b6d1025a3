// A thread's work for a device on a stream of its own, and what the core then asks the device's plugin for.
#include <gtest/gtest.h>

#include <thread>

#include "fake_device.hpp"
#include "outcome.hpp"
#include "tenon/ext/draft/device.h"

namespace tenon::test {
namespace {

using namespace tenon::core;

void* g_used = nullptr;  // the stream of the last copy

struct WithStreams : FakeDevice {
  explicit WithStreams(std::string_view name) : FakeDevice(name, true) {
    memory.copy_in = [](void*, uint32_t, void* stream, const void*, void*, uint64_t,
                        uint64_t) -> tn_status* { return g_used = stream, nullptr; };
  }
};

TEST(Redirect, AThreadsCopiesGoToItsStreamOnly) {
  WithStreams fake("redirected");
  tn_device& device = fake.add();
  char bytes[64] = {};
  const Block block = allocate(device, sizeof bytes);
  const auto copy = [&] {
    copy_bytes(device, block.buffer, 0, host_device(), bytes, 0, sizeof bytes);
    return g_used;
  };
  int own = 0;
  EXPECT_EQ(copy(), device.stream);
  tn_device_redirect(&device, &own);
  EXPECT_EQ(tn_device_redirected(), &device);
  EXPECT_EQ(copy(), &own);
  std::thread([&] {
    EXPECT_EQ(tn_device_redirected(), nullptr);
    EXPECT_EQ(copy(), device.stream);
  }).join();
  tn_device_redirect(nullptr, nullptr);
  EXPECT_EQ(copy(), device.stream);
  deallocate(device, block);
  fake.remove();
}

TEST(Redirect, ItsMemoryIsNotCached) {
  FakeDevice fake("uncached", true);
  tn_device& device = fake.add();
  deallocate(device, allocate(device, 1000));  // does not take what others left in the cache
  const uint64_t before = fake.taken, calls = fake.calls;
  int own = 0;
  tn_device_redirect(&device, &own);
  const Block block = allocate(device, 1000), other = allocate(device, 1000);
  EXPECT_EQ(fake.calls, calls + 2);
  EXPECT_EQ(stats_of(device).used, block.bytes + other.bytes);
  deallocate(device, other);
  EXPECT_EQ(fake.taken, before + block.bytes);
  tn_device_redirect(nullptr, nullptr);
  deallocate(device, block);  // freed later, after a wait
  EXPECT_EQ(fake.taken, before);
  EXPECT_GT(fake.synchronized_before_free, 0u);
  EXPECT_EQ(stats_of(device).used, 0u);
  fake.remove();
}

TEST(Extend, GivesThePluginsTables) {
  FakeDevice fake("extended", true);
  tn_device& device = fake.add();
  tn_extension seen{};
  const auto look = [](void* to, const tn_extension* given) -> tn_status* {
    *static_cast<tn_extension*>(to) = *given;
    return nullptr;
  };
  EXPECT_EQ(take(tn_device_extend(&device, str("tn.nothing"), 1, look, &seen)).code, TN_OK);
  EXPECT_EQ(seen.table, nullptr);
  EXPECT_EQ(seen.self, &fake);
  EXPECT_EQ(seen.index, 0u);
  EXPECT_EQ(seen.stream, device.stream);
  ASSERT_NE(seen.streams, nullptr);
  EXPECT_EQ(seen.streams->create, fake.stream.create);
  const auto fail = [](void*, const tn_extension*) {
    return make_status(TN_IO, "from the callback");
  };
  EXPECT_EQ(take(tn_device_extend(&device, str("tn.nothing"), 1, fail, nullptr)).message,
            "from the callback");
  EXPECT_EQ(take(tn_device_extend(nullptr, str("tn.nothing"), 1, look, &seen)).code,
            TN_INVALID_ARGUMENT);
  fake.remove();
  EXPECT_EQ(take(tn_device_extend(&device, str("tn.nothing"), 1, look, &seen)).code,
            TN_FAILED_PRECONDITION);
}

}  // namespace
}  // namespace tenon::test
