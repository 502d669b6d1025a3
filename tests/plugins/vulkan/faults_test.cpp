// Injected failures (TENON_VULKAN_FAULT), each case in a process of its own: the result is a typed error, and the host goes on.
#include <gtest/gtest.h>

#include <string>

#include "device.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"

namespace {

using namespace test_vulkan;

// Works on the device until it fails. Returns the error, or an empty one.
tenon::Error first_error() {
  try {
    for (int i = 0; i < 20; ++i) {
      const Tensor x = to_gpu(tenon::full({16}, 1.0));
      (x + x).to_vector<float>();
    }
  } catch (const tenon::Error& error) {
    return error;
  }
  return {TN_OK, ""};
}

void expect_lost(const tenon::Error& error, const std::string& why) {
  EXPECT_EQ(error.code(), TN_DEVICE_LOST) << error.what();
  EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  // Later calls fail at once, and the host keeps computing.
  EXPECT_EQ(first_error().code(), TN_DEVICE_LOST);
  EXPECT_EQ((tenon::full({2}, 1.0) + 1.0).to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST(Lost, IsATypedErrorAndTheHostGoesOn) { expect_lost(first_error(), "was lost"); }

TEST(Hang, IsFoundByTheClock) { expect_lost(first_error(), "did not finish within 1 s"); }

// The driver's n-th block fails. The allocator retries once, so the work may succeed; if it fails, it is out of memory.
TEST(Memory, IsTypedAndTheDeviceGoesOn) {
  const tenon::Error error = first_error();
  EXPECT_TRUE(error.code() == TN_OK || error.code() == TN_OUT_OF_MEMORY) << error.what();
  EXPECT_EQ(first_error().code(), TN_OK);
}

// The device hangs soon after training has begun. Every later wait, wherever it is, must fail at once.
TEST(Step, WaitsForNothing) {
  tenon::nn::Linear net(16, 4);
  net.to(gpu());
  tenon::optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9});
  const Tensor x = to_gpu(tenon::normal({8, 16})), y = to_gpu(tenon::normal({8, 4}));
  Tensor loss;
  for (int step = 0; step < 400; ++step) {
    loss = tenon::mse_loss(net(x), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  try {
    loss.item<float>();
    FAIL() << "nothing hung: the test asks for too late a submission";
  } catch (const tenon::Error& error) {
    EXPECT_EQ(error.code(), TN_DEVICE_LOST) << error.what();
  }
}

}  // namespace
