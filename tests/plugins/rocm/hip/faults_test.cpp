// Faults, over the stand-in for HIP: no device, an older driver, a full device, a lost one, and another framework that selects devices.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "hip.hpp"
#include "library.hpp"
#include "runtime.hpp"
#include "tenon/plugin.hpp"
#include "timeline.hpp"

namespace tenon::gpu {

std::vector<LibraryFound> vendor_libraries() { return concluded_libraries(); }

// Nobody listens.
thread_local constinit Timed* Timed::innermost_ = nullptr;
void Timed::stamp() noexcept {}

namespace {

class Faults : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    ASSERT_EQ(rt::devices(reason).size(), 2U) << reason;
    rt::use(0);
  }
  void TearDown() override { unsetenv("TENON_FAKE_HIP"); }
  static void meet(const char* what) { setenv("TENON_FAKE_HIP", what, 1); }
  // The code and the message that a call throws.
  template <class Call>
  static std::pair<uint32_t, std::string> thrown(Call&& call) {
    try {
      call();
    } catch (const sdk::Error& error) {
      return {error.code(), error.what()};
    }
    return {TN_OK, ""};
  }
};

TEST_F(Faults, NoDevicesAreAReason) {
  for (const char* const what : {"no device", "old driver"}) {
    meet(what);
    std::string reason;
    EXPECT_TRUE(rt::devices(reason).empty());
    EXPECT_NE(reason, "") << what;
  }
}

TEST_F(Faults, AFullDeviceGivesNothingAndGoesOn) {
  meet("full");
  EXPECT_EQ(rt::allocate(64), nullptr);
  unsetenv("TENON_FAKE_HIP");
  void* const memory = rt::allocate(64);
  EXPECT_NE(memory, nullptr);
  rt::free(memory);
}

TEST_F(Faults, ALostDeviceIsATypedError) {
  rt::Stream const stream = rt::stream_create();
  meet("lost");
  for (int again = 0; again < 2; ++again) {
    const auto [code, words] = thrown([&] { rt::synchronize(stream); });
    EXPECT_EQ(code, TN_DEVICE_LOST);
    EXPECT_NE(words.find("lost to this process"), std::string::npos) << words;
  }
  EXPECT_EQ(thrown([] { rt::allocate(64); }).first, TN_DEVICE_LOST);
  rt::stream_destroy(stream);
}

TEST_F(Faults, AnUnsuitedDeviceIsATypedError) {
  rt::Stream const stream = rt::stream_create();
  meet("other code");
  const auto [code, words] = thrown([&] { rt::synchronize(stream); });
  EXPECT_EQ(code, TN_FAILED_PRECONDITION);
  EXPECT_NE(words.find("compiled for other devices"), std::string::npos) << words;
  unsetenv("TENON_FAKE_HIP");
  rt::stream_destroy(stream);
}

// As PyTorch does on the same thread.
TEST_F(Faults, ChoosesItsDeviceAgainAfterAnotherFramework) {
  rt::use(0);
  ASSERT_EQ(hip().hipSetDevice(1), hipSuccess);
  rt::use(0);
  int chosen = -1;
  ASSERT_EQ(hip().hipGetDevice(&chosen), hipSuccess);
  EXPECT_EQ(chosen, 0);
}

}  // namespace
}  // namespace tenon::gpu
