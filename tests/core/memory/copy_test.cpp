#include <gtest/gtest.h>

#include <numeric>

#include "fake_device.hpp"

namespace tenon::test {
namespace {

using namespace tenon::core;

std::vector<unsigned char> pattern(size_t bytes) {
  std::vector<unsigned char> values(bytes);
  std::iota(values.begin(), values.end(), static_cast<unsigned char>(3));
  return values;
}

// Host → a → b → host, with offsets; `bytes` may exceed the staging buffer.
void round_trip(tn_device& a, tn_device& b, size_t bytes) {
  const auto sent = pattern(bytes);
  std::vector<unsigned char> received(bytes + 8);
  const Block in_a = allocate(a, bytes + 5), in_b = allocate(b, bytes + 7);
  tn_device& host = host_device();
  copy_bytes(a, in_a.buffer, 5, host, const_cast<unsigned char*>(sent.data()), 0, bytes);
  copy_bytes(b, in_b.buffer, 7, a, in_a.buffer, 5, bytes);
  copy_bytes(host, received.data(), 8, b, in_b.buffer, 7, bytes);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), received.begin() + 8));
  deallocate(a, in_a);
  deallocate(b, in_b);
}

TEST(Copy, BetweenTypesGoesThroughTheHost) {
  FakeDevice a("copy_a"), b("copy_b", true);
  tn_device &on_a = a.add(), &on_b = b.add();
  round_trip(on_a, on_b, 1000);
  round_trip(on_b, on_a, (33 << 20) + 1);
  round_trip(on_a, on_a, 100);  // without copy_within
  round_trip(host_device(), on_a, 100);
  round_trip(host_device(), host_device(), 100);
  a.remove();
  b.remove();
}

TEST(Copy, BetweenDevicesOfATypeWithoutPeerAccess) {
  FakeDevice fake("copy_peers");
  fake.count = 2;
  tn_device& first = fake.add();
  round_trip(first, find_device("copy_peers:1"), 500);
  fake.remove();
}

TEST(Copy, AFailureNamesBothEnds) {
  FakeDevice fake("copy_fails");
  fake.memory.copy_out = [](void*, uint32_t, void*, void*, uint64_t, void*,
                            uint64_t) -> tn_status* {
    return make_status(TN_DEVICE_LOST, "unplugged");
  };
  tn_device& device = fake.add();
  const Block block = allocate(device, 64);
  char byte = 0;
  EXPECT_EQ(error_of([&] { copy_bytes(host_device(), &byte, 0, device, block.buffer, 0, 1); },
                     TN_DEVICE_LOST),
            "[copy] copy_fails:0 to cpu:0: unplugged");
  copy_bytes(host_device(), &byte, 0, device, block.buffer, 0,
             0);  // copying nothing is not an error
  deallocate(device, block);
  fake.remove();
}

TEST(Copy, HostFillRepeatsThePattern) {
  const tn_memory_table& memory = host_device().type->memory;
  for (uint32_t size : {1u, 2u, 4u, 8u}) {
    const auto unit = pattern(size);
    std::vector<unsigned char> to(1 + 8 * 37);
    core::check(memory.fill(nullptr, 0, nullptr, to.data(), 1, 8 * 37, unit.data(), size));
    EXPECT_EQ(to[0], 0);
    for (size_t i = 0; i < 8 * 37; ++i) ASSERT_EQ(to[1 + i], unit[i % size]);
  }
  char bytes[9] = {};
  tn_status* status = memory.fill(nullptr, 0, nullptr, bytes, 0, 9, bytes, 4);
  EXPECT_EQ(tn_status_code(status), TN_INVALID_ARGUMENT);
  tn_status_release(status);
}

}  // namespace
}  // namespace tenon::test
