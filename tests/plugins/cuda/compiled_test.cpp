// Which kernels of a plugin run on a device.
#include "compiled.hpp"

#include <gtest/gtest.h>

namespace tenon::gpu {
namespace {

TEST(Compiled, MachineCodeOfTheSameMajorVersion) {
  constexpr uint32_t kBundle[] = {75, 80, 90, 100};
  EXPECT_EQ(compiled_for(75, kBundle), 75U);
  EXPECT_EQ(compiled_for(80, kBundle), 80U);
  EXPECT_EQ(compiled_for(89, kBundle), 80U);
  EXPECT_EQ(compiled_for(90, kBundle), 90U);
  EXPECT_EQ(compiled_for(103, kBundle), 100U);
}
TEST(Compiled, PtxOfTheLastOnNewerDevices) {
  constexpr uint32_t kDevelopment[] = {75}, kHopper[] = {80, 90};
  EXPECT_EQ(compiled_for(90, kDevelopment), 75U);
  EXPECT_EQ(compiled_for(120, kHopper), 90U);
}
TEST(Compiled, NothingForOlderDevices) {
  constexpr uint32_t kHopper[] = {80, 90};
  EXPECT_EQ(compiled_for(75, kHopper), 0U);
  EXPECT_EQ(compiled_for(70, kHopper), 0U);
}
// Machine code for a later minor version does not run, and PTX of the last is for later devices.
TEST(Compiled, NothingForAnEarlierMinorVersion) {
  constexpr uint32_t kAda[] = {89};
  EXPECT_EQ(compiled_for(86, kAda), 0U);
}

}  // namespace
}  // namespace tenon::gpu
