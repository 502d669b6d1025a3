// The plugin's requests to cuDNN, planned by the real library for absent cards: it accepts the properties of a card in place of a card
// (cuDNN frontend, "Deviceless ahead-of-time compilation"), and compiles what it would run there.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "cudnn_plans.hpp"
#include "fake_cudart.hpp"

namespace tenon::gpu {
namespace {

namespace fe = cudnn_frontend;

// Limits: CUDA C++ Programming Guide, "Compute Capabilities". Multiprocessors, caches and clocks: the cards' data sheets.
struct Card {
  const char* name;
  uint32_t architecture, multiprocessors, shared_bytes, threads, blocks;
  uint64_t cache, memory;
  uint32_t clock, memory_clock;  // kHz
};
constexpr uint64_t kMiB = 1 << 20, kGiB = uint64_t{1} << 30;
constexpr Card kCards[] = {
    {"T4", 75, 40, 65536, 1024, 16, 4 * kMiB, 16 * kGiB, 1590000, 5001000},
    {"A100", 80, 108, 166912, 2048, 32, 40 * kMiB, 80 * kGiB, 1410000, 1593000},
    {"L4", 89, 58, 101376, 1536, 24, 48 * kMiB, 24 * kGiB, 2040000, 6251000},
    {"H100", 90, 132, 232448, 2048, 32, 50 * kMiB, 80 * kGiB, 1980000, 2619000},
    {"B200", 100, 148, 232448, 2048, 32, 126 * kMiB, 180 * kGiB, 1965000, 3996000},
};

std::string json_of(const Card& card) {
  std::string text = "{";
  const auto add = [&](const char* name, const std::string& value) {
    text += (text.size() > 1 ? ",\"" : "\"") + std::string(name) + "\":" + value;
  };
  const auto count = [&](const char* name, uint64_t value) { add(name, std::to_string(value)); };
  add("deviceName", "\"" + std::string(card.name) + "\"");
  add("maxGridSize", "[2147483647,65535,65535]");
  add("maxBlockSize", "[1024,1024,64]");
  count("cudaDeviceId", 0);
  count("deviceVer", card.architecture * 10);
  count("driverVer", 13000);
  count("regsPerBlock", 65536);
  count("multiProcessorCount", card.multiprocessors);
  count("warpSize", 32);
  count("maxSharedMemoryPerBlock", 49152);
  count("maxSharedMemoryPerBlockOptin", card.shared_bytes);
  count("reservedSharedMemoryPerBlock", card.architecture >= 80 ? 1024 : 0);
  count("maxRegistersPerSM", 65536);
  count("maxCtasPerSM", card.blocks);
  count("maxThreadsPerBlock", 1024);
  count("maxThreadsPerSM", card.threads);
  count("pciDeviceId", 0);
  count("isTccDriver", 0);
  count("supportCoopLaunch", 1);
  count("smClockRateKHz", card.clock);
  count("memClockRateKHz", card.memory_clock);
  count("l2CacheSize", card.cache);
  count("totalGlobalMem", card.memory);
  return text + "}";
}

CudnnTarget target_of(const Card& card) {
  const std::string json = json_of(card);
  auto properties = std::make_shared<fe::DeviceProperties>();
  const fe::error_t error = properties->deserialize({json.begin(), json.end()});
  EXPECT_TRUE(error.is_good()) << error.err_msg;
  return {nullptr, card.architecture, properties};
}

class CudnnPlans : public testing::TestWithParam<Card> {
 protected:
  void SetUp() override {
    const std::string name = "libcudnn.so." + std::to_string(CUDNN_MAJOR);
    if (dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
      GTEST_SKIP() << name << " is not found";
    ASSERT_TRUE(has_cudnn());
    if (cudnnGetVersion() < 90800) GTEST_SKIP() << "cuDNN before 9.8 plans for cards at hand only";
    target_ = target_of(GetParam());
    fake_architecture = static_cast<int>(GetParam().architecture);
  }
  template <class Problem>
  std::string plan(const Problem& problem, const CudnnFreedom& may = {}) {
    try {
      describe(problem)->plan(target_, may);
    } catch (const sdk::Error& error) {
      return error.what();
    }
    return "";
  }

  CudnnTarget target_;
};

CudnnConv make_conv(Pass pass, tn_dtype dtype, const std::vector<int64_t>& x,
                    const std::vector<int64_t>& weight, int64_t stride, int64_t dilation) {
  const size_t spatial = x.size() - 2;
  std::vector<int64_t> y = {x[0], weight[0]};
  for (size_t d = 2; d < x.size(); ++d)
    y.push_back((x[d] + 2 - dilation * (weight[d] - 1) - 1) / stride + 1);
  CudnnConv conv{pass,
                 dtype,
                 pass == kForward ? x : y,
                 pass == kWeight ? x : weight,
                 pass == kForward ? y
                 : pass == kInput ? x
                                  : weight,
                 std::vector<int64_t>(spatial, stride),
                 std::vector<int64_t>(spatial, 1),
                 std::vector<int64_t>(spatial, dilation)};
  return conv;
}

// cuDNN compiles attention with this library.
bool has_compiler() {
  const std::string name = "libnvrtc.so." + std::to_string(CUDART_VERSION / 1000);
  return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
}

TEST_P(CudnnPlans, ConvolutionsOfEveryPassAndDtype) {
  for (const Pass pass : {kForward, kInput, kWeight})
    for (const tn_dtype dtype : {TN_DTYPE_F32, TN_DTYPE_F16, TN_DTYPE_BF16, TN_DTYPE_F64}) {
      if (dtype == TN_DTYPE_BF16 && GetParam().architecture < 80) continue;
      EXPECT_EQ(plan(make_conv(pass, dtype, {32, 64, 56, 56}, {128, 64, 3, 3}, 1, 1)), "")
          << "pass " << pass << ", dtype " << dtype;
    }
}
TEST_P(CudnnPlans, ConvolutionsInGroupsWithStridesAndDilation) {
  for (const Pass pass : {kForward, kInput, kWeight}) {
    EXPECT_EQ(plan(make_conv(pass, TN_DTYPE_F32, {8, 64, 28, 28}, {64, 16, 3, 3}, 2, 1)), "");
    EXPECT_EQ(plan(make_conv(pass, TN_DTYPE_F16, {8, 64, 28, 28}, {64, 1, 3, 3}, 1, 1)), "");
    EXPECT_EQ(plan(make_conv(pass, TN_DTYPE_F32, {8, 16, 30, 30}, {24, 16, 3, 3}, 1, 2)), "");
    EXPECT_EQ(plan(make_conv(pass, TN_DTYPE_F16, {4, 16, 12, 14, 14}, {32, 16, 3, 3, 3}, 1, 1)),
              "");
    EXPECT_EQ(plan(make_conv(pass, TN_DTYPE_F32, {4, 8, 1, 100}, {8, 8, 1, 5}, 1, 1)), "");
  }
}

CudnnAttention make_attention(bool is_backward, tn_dtype dtype, int64_t width, int64_t groups,
                              bool causal) {
  const auto dense = [](const std::vector<int64_t>& sizes) -> CudnnAttention::Operand {
    return {sizes, dense_strides(sizes)};
  };
  const auto q = dense({4, 12, 512, width}), k = dense({4, 12 / groups, 512, width});
  // As (N, L, H, E), before heads and positions were swapped.
  auto swapped = q;
  swapped.strides = {512 * 12 * width, width, 12 * width, 1};
  return {is_backward, dtype, swapped, k, k, q, q, causal, 0.125f};
}

TEST_P(CudnnPlans, AttentionOfHalfTypes) {
  if (!has_compiler()) GTEST_SKIP() << "NVRTC, with which cuDNN compiles it, is not found";
  for (const bool is_backward : {false, true})
    for (const tn_dtype dtype : {TN_DTYPE_F16, TN_DTYPE_BF16})
      for (const int64_t width : {64, 128})
        for (const bool causal : {false, true}) {
          const std::string why =
              plan(make_attention(is_backward, dtype, width, width == 64 ? 1 : 4, causal));
          // Before Ampere cuDNN has no such kernels, and the plugin's own kernels compute attention.
          EXPECT_EQ(why.empty(), GetParam().architecture >= 80)
              << "backward " << is_backward << ", dtype " << dtype << ", width " << width << ": "
              << why;
          // That is not a fault of the library.
          if (GetParam().architecture < 80) {
            EXPECT_NE(why.find("has no plan"), std::string::npos) << why;
          }
        }
}

// q, k and v are parts of one (B, L, 3, H, E), y is (B, L, H, E), and the gradients share one tensor.
TEST_P(CudnnPlans, PackedAttention) {
  if (GetParam().architecture < 80 || !has_compiler()) return;
  const std::vector<int64_t> sizes = {4, 12, 1024, 64};
  const CudnnAttention::Operand part{sizes, {1024 * 3 * 768, 64, 3 * 768, 1}},
      y{sizes, {1024 * 768, 64, 768, 1}};
  for (const bool is_backward : {false, true}) {
    CudnnAttention attention{is_backward, TN_DTYPE_BF16, part, part, part, y, y, true, 0.125f};
    attention.gq = attention.gk = attention.gv = part;
    EXPECT_EQ(plan(attention), "") << "backward " << is_backward;
  }
}

TEST_P(CudnnPlans, WhatMayBeFaster) {
  constexpr CudnnFreedom kAll = {.tf32 = true, .nondeterministic = true};
  EXPECT_EQ(plan(make_conv(kWeight, TN_DTYPE_F32, {8, 64, 28, 28}, {64, 64, 3, 3}, 1, 1), kAll),
            "");
  if (GetParam().architecture < 80 || !has_compiler()) return;
  CudnnAttention attention = make_attention(true, TN_DTYPE_BF16, 64, 1, true);
  attention.deterministic = false;
  EXPECT_EQ(plan(attention, kAll), "");
}

// The heads of GPT-2 124M and of a network of 7 billion parameters: the memory that reproducible gradients take on Hopper.
TEST_P(CudnnPlans, WorkspacesOfAttention) {
  if (GetParam().architecture != 90 || !has_compiler()) return;
  const std::pair<const char*, std::vector<int64_t>> shapes[] = {
      {"4 × 12 × 1024 × 64", {4, 12, 1024, 64}}, {"2 × 32 × 4096 × 128", {2, 32, 4096, 128}}};
  for (const auto& [name, sizes] : shapes)
    for (const bool deterministic : {true, false}) {
      const CudnnAttention::Operand dense{sizes, dense_strides(sizes)};
      CudnnAttention attention{true,  TN_DTYPE_BF16, dense, dense, dense,
                               dense, dense,         true,  0.125f};
      attention.deterministic = deterministic;
      const auto graph = describe(attention);
      const auto most = static_cast<int64_t>(GetParam().memory / 8);
      graph->plan(target_, {.nondeterministic = !deterministic, .workspace = most});
      std::printf("%s, gradients of %s, %s: %.0f MiB\n", GetParam().name, name,
                  deterministic ? "the same each time" : "in any order",
                  static_cast<double>(graph->workspace()) / kMiB);
    }
}

// A plan that needs more workspace than allowed must not look like an unsupported shape.
TEST_P(CudnnPlans, TooLittleWorkspaceIsTold) {
  if (GetParam().architecture != 90 || !has_compiler()) return;
  CudnnAttention attention = make_attention(true, TN_DTYPE_BF16, 64, 1, true);
  try {
    describe(attention)->plan(target_, {.workspace = 1024});
    ADD_FAILURE() << "a kilobyte is enough";
  } catch (const sdk::Error& error) {
    EXPECT_EQ(error.code(), TN_FAILED_PRECONDITION) << error.what();
    EXPECT_NE(std::string(error.what()).find("TENON_CUDA_CUDNN_WORKSPACE"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Cards, CudnnPlans, testing::ValuesIn(kCards),
                         [](const auto& card) { return std::string(card.param.name); });

}  // namespace
}  // namespace tenon::gpu
