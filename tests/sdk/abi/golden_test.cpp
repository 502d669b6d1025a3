// Plugins written for ABI 1.0, built with its frozen headers by several compilers and in several languages: each must pass the same cases
// and give the same report.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "runner.hpp"
#include "support.hpp"

namespace tenon::test {
namespace {

using conformance::Report;

// Their own kernels, and ops that reach these or the host through the core.
const char* const kOwn[] = {"add", "mul", "matmul"};
const char* const kOthers[] = {"sub", "sum", "softmax", "linear", "where"};

std::string device_of(const std::string& plugin) {
  return plugin == "newer_core" ? "golden_inner" : plugin;
}

// A report as text, without the names that differ between plugins.
std::string neutral(std::string text, const std::string& plugin) {
  for (const std::string& name : {device_of(plugin), plugin})
    text = std::regex_replace(text, std::regex(name), "PLUGIN");
  return text;
}

std::string report_of(const std::string& plugin) {
  const Device device(device_of(plugin));
  std::string text;
  for (const char* op : kOwn)
    text += std::string(op) + " by " +
            std::string(detail::to_view(
                tn_op_provider(tn_op_find(detail::to_str(op)), device.get(), TN_DTYPE_F32))) +
            "\n";
  const auto add = [&](const char* op) {
    const Report report = conformance::check_values(op, {device, 1});
    text += std::string(op) + ": " + std::to_string(report.cases) + " cases\n";
    for (const std::string& failure : report.failures) text += "failed " + failure + "\n";
    for (const std::string& skip : report.skipped) text += "skipped " + skip + "\n";
  };
  for (const char* op : kOwn) add(op);
  for (const char* op : kOthers) add(op);
  return neutral(text, plugin);
}

struct Golden : testing::TestWithParam<std::string> {
  std::string name = GetParam();
  void SetUp() override {
    load_plugin(built(name));
    tn_fallback_set(TN_FALLBACK_ALLOW);
  }
  void TearDown() override { tn_fallback_set(TN_FALLBACK_WARN); }
};

TEST_P(Golden, GivesTheReportOfTheOneInC) {
  load_plugin(built("golden_c"));
  static const std::string wanted = report_of("golden_c");
  const std::string got = name == "golden_c" ? wanted : report_of(name);
  EXPECT_EQ(got, wanted);
  EXPECT_EQ(got.find("failed"), std::string::npos) << got;
  EXPECT_NE(got.find("add by org.example.PLUGIN"), std::string::npos) << got;
  std::smatch cases;
  ASSERT_TRUE(std::regex_search(got, cases, std::regex("add: ([0-9]+) cases")));
  EXPECT_GT(std::stoi(cases[1]), 10);
}

TEST_P(Golden, ItsOpHasAGradient) {
  const Device device(device_of(name));
  const Tensor x = tensor({1.f, 2.f}, device), y = tensor({3.f, 4.f}, device);
  Tensor left = x, right = y;
  left.requires_grad_();
  right.requires_grad_();
  const Tensor out = call(device_of(name) + ".blend", {left, right});
  EXPECT_EQ(out.to_vector<float>(), (std::vector<float>{10, 18}));
  out.backward(tensor({1.f, 10.f}, device));
  EXPECT_EQ(left.grad().to_vector<float>(), (std::vector<float>{1, 10}));
  EXPECT_EQ(right.grad().to_vector<float>(), (std::vector<float>{6, 80}));
}

// A status in C, an exception that stops at the barrier in C++, an Err in Rust.
TEST_P(Golden, ItsRefusalIsAStatus) {
  const Tensor matrix = tensor({{1.f, 2.f}}, Device(device_of(name)));
  try {
    call(device_of(name) + ".blend", {matrix, matrix});
    FAIL() << "the shape rule takes vectors alone";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), static_cast<uint32_t>(TN_INVALID_ARGUMENT));
    EXPECT_NE(std::string(error.what()).find("blend takes vectors"), std::string::npos)
        << error.what();
  }
}

TEST_P(Golden, FillsOnlyWhatTheCoreAsksFor) {
  tn_device_info info{};
  info.struct_size = sizeof info;
  detail::check(tn_device_get_info(Device(device_of(name)).get(), &info));
  EXPECT_EQ(detail::to_view(info.name), "Golden device");
  EXPECT_EQ(info.memory_total, uint64_t{1} << 30);
  EXPECT_EQ(info.peak_flops, 0u);
}

INSTANTIATE_TEST_SUITE_P(Plugins, Golden, testing::Values(GOLDEN_PLUGINS),
                         [](const auto& test) { return test.param; });

TEST(Languages, AllAreTested) {
  const std::vector<std::string> built = {GOLDEN_PLUGINS};
  const auto has = [&](const char* name) {
    return std::find(built.begin(), built.end(), name) != built.end();
  };
  EXPECT_TRUE(has("golden_c") && has("golden_cpp"));
  if (!has("golden_libcxx"))
    GTEST_SKIP() << "no clang++ with libc++ here (Debian: clang libc++-dev)";
  if (!has("golden_rust")) GTEST_SKIP() << "no rustc here (Debian: rustc)";
}

TEST(NewerMinor, RefusesAPluginThatNeedsIt) {
  try {
    load_plugin(built("golden_too_new"));
    FAIL() << "it needs a core of the next minor version";
  } catch (const Error& error) {
    const std::string wanted =
        "needs a core of ABI 1." + std::to_string(TN_ABI_MINOR + 1) + " or later";
    EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("golden_too_new"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenon::test
