// The order in which "auto" prefers devices.
#include "dispatch/best.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenon::core {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

Candidate make(const char* id, uint32_t kind, uint64_t free, uint64_t total, uint64_t flops = 0) {
  Candidate made;
  made.id = id;
  made.computes = true;
  made.info.kind = kind;
  made.info.memory_free = free;
  made.info.memory_total = total;
  made.info.peak_flops = flops;
  return made;
}

struct Ranked {
  std::string first, why;
};
Ranked ranked(std::vector<Candidate> candidates) {
  const std::string why = rank(candidates);
  return {std::string(candidates[0].id), why};
}

TEST(Best, AGpuPrecedesTheCpuAndASoftwareDeviceFollows) {
  const Candidate cpu = make("cpu:0", TN_DEVICE_KIND_CPU, 60 * kGiB, 64 * kGiB);
  const Candidate gpu = make("cuda:0", TN_DEVICE_KIND_GPU, 7 * kGiB, 8 * kGiB);
  const Candidate software = make("vulkan:0", TN_DEVICE_KIND_SOFTWARE, 60 * kGiB, 64 * kGiB);
  const Ranked all = ranked({cpu, software, gpu});
  EXPECT_EQ(all.first, "cuda:0");
  EXPECT_EQ(all.why, "GPU before CPU (cpu:0)");
  EXPECT_EQ(ranked({software, cpu}).first, "cpu:0");
}

TEST(Best, ADeviceWithoutKernelsIsLast) {
  Candidate gpu = make("acme:0", TN_DEVICE_KIND_GPU, 7 * kGiB, 8 * kGiB);
  gpu.computes = false;
  const Ranked all = ranked({gpu, make("cpu:0", TN_DEVICE_KIND_CPU, kGiB, 8 * kGiB)});
  EXPECT_EQ(all.first, "cpu:0");
  EXPECT_EQ(all.why, "acme:0 has no kernels of its own");
}

TEST(Best, ABusyGpuIsAvoidedThoughItIsFaster) {
  const Ranked all =
      ranked({make("cuda:0", TN_DEVICE_KIND_GPU, 10 * kGiB, 80 * kGiB, 60'000'000'000'000),
              make("cuda:1", TN_DEVICE_KIND_GPU, 8 * kGiB, 8 * kGiB, 10'000'000'000'000)});
  EXPECT_EQ(all.first, "cuda:1");
  EXPECT_EQ(all.why, "cuda:0 is busy: 10.0 GiB free of 80.0 GiB");
}

TEST(Best, OwnMemoryDoesNotMakeADeviceBusy) {
  Candidate mine = make("cuda:0", TN_DEVICE_KIND_GPU, 10 * kGiB, 80 * kGiB, 60'000'000'000'000);
  mine.held = 69 * kGiB;
  const Ranked all =
      ranked({make("cuda:1", TN_DEVICE_KIND_GPU, 8 * kGiB, 8 * kGiB, 10'000'000'000'000), mine});
  EXPECT_EQ(all.first, "cuda:0");
  EXPECT_EQ(all.why, "60.0 Tflop/s, cuda:1 has 10.0");
}

TEST(Best, MoreFreeMemoryDecidesBetweenEquals) {
  const Ranked all = ranked({make("cuda:0", TN_DEVICE_KIND_GPU, 50 * kGiB, 80 * kGiB, 1),
                             make("cuda:1", TN_DEVICE_KIND_GPU, 79 * kGiB, 80 * kGiB, 1)});
  EXPECT_EQ(all.first, "cuda:1");
  EXPECT_EQ(all.why, "more free memory than cuda:0 (50.0 GiB)");
  EXPECT_EQ(
      ranked({make("a:0", TN_DEVICE_KIND_GPU, 1, 1), make("a:1", TN_DEVICE_KIND_GPU, 1, 1)}).why,
      "as good as a:1, and first");
  EXPECT_EQ(ranked({make("a:0", TN_DEVICE_KIND_GPU, 1, 1)}).why, "the only device");
}

}  // namespace
}  // namespace tenon::core
