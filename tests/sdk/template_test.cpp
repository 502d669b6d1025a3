// The null backend: every op visibly runs on it through the host, and its memory is its own.
#include <gtest/gtest.h>

#include <vector>

#include "outcome.hpp"
#include "tenon/tenon.h"

namespace tenon::test {
namespace {

void ok(tn_status* status) {
  const Outcome outcome = take(status);
  EXPECT_EQ(outcome.code, TN_OK) << outcome;
}

struct Template : testing::Test {
  tn_device* device = nullptr;
  void SetUp() override {
    ok(tn_plugin_load(str(TEMPLATE_PLUGIN)));
    ok(tn_device_find(str("template:0"), &device));
    ASSERT_NE(device, nullptr);
    tn_fallback_set(TN_FALLBACK_ALLOW);
  }
  void TearDown() override { tn_fallback_set(TN_FALLBACK_WARN); }
  tn_tensor* make(const std::vector<float>& values) const {
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    tn_tensor* tensor = nullptr;
    ok(tn_tensor_from_host(values.data(), values.size() * sizeof(float), TN_DTYPE_F32, 1, shape,
                           device, &tensor));
    return tensor;
  }
};

TEST_F(Template, KeepsUnaddressableMemory) {
  const std::vector<float> sent = {1, 2, 3};
  tn_tensor* tensor = make(sent);
  EXPECT_EQ(tn_tensor_data(tensor), nullptr);
  std::vector<float> received(3);
  ok(tn_tensor_to_host(tensor, received.data(), 3 * sizeof(float)));
  EXPECT_EQ(received, sent);
  tn_tensor_release(tensor);
  tn_device_info info{};
  info.struct_size = sizeof info;
  ok(tn_device_get_info(device, &info));
  EXPECT_EQ(text(info.name), "Template device");
}

TEST_F(Template, OpsRunOnTheHostAndComeBack) {
  const tn_op* add = tn_op_find(str("add"));
  tn_device* cpu = nullptr;
  ok(tn_device_find(str("cpu"), &cpu));
  if (tn_op_provider(add, cpu, TN_DTYPE_F32).size == 0)
    GTEST_SKIP() << "no plugin computes on the host here";
  const tn_str provider = tn_op_provider(add, device, TN_DTYPE_F32);
  EXPECT_EQ(text(provider), "host fallback");
  tn_tensor* x = make({1, 2, 3});
  tn_value args[2] = {{TN_VALUE_TENSOR, 0, {}}, {TN_VALUE_TENSOR, 0, {}}};
  args[0].as.tensor = args[1].as.tensor = x;
  tn_tensor* sum = nullptr;
  ok(tn_op_call(add, args, 2, &sum, 1));
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(tn_tensor_device(sum), device);
  std::vector<float> values(3);
  ok(tn_tensor_to_host(sum, values.data(), 3 * sizeof(float)));
  EXPECT_EQ(values, (std::vector<float>{2, 4, 6}));
  tn_tensor_release(sum);

  tn_fallback_set(TN_FALLBACK_DENY);
  tn_status* status = tn_op_call(add, args, 2, &sum, 1);
  EXPECT_EQ(tn_status_code(status), TN_UNIMPLEMENTED);
  tn_status_release(status);
  tn_tensor_release(x);
}

// No kernel here makes strided elements contiguous, and the host cannot address them; neither may be needed.
TEST_F(Template, StridedViewsComeBackAndTakeResults) {
  tn_device* cpu = nullptr;
  ok(tn_device_find(str("cpu"), &cpu));
  if (tn_op_provider(tn_op_find(str("clone")), cpu, TN_DTYPE_F32).size == 0)
    GTEST_SKIP() << "no plugin computes on the host here";
  const auto call = [](const char* op, std::vector<tn_value> args) {
    tn_tensor* out = nullptr;
    ok(tn_op_call(tn_op_find(str(op)), args.data(), static_cast<uint32_t>(args.size()), &out, 1));
    return out;
  };
  const auto tensor = [](tn_tensor* x) {
    tn_value value{TN_VALUE_TENSOR, 0, {}};
    value.as.tensor = x;
    return value;
  };
  const auto ints = [](const std::vector<int64_t>& list) {
    tn_value value{TN_VALUE_INTS, static_cast<uint32_t>(list.size()), {}};
    value.as.ints = list.data();
    return value;
  };
  const std::vector<int64_t> shape = {2, 3}, axes = {1, 0}, wide = {2, 2}, first = {0};
  tn_tensor* flat = make({1, 2, 3, 4, 5, 6});
  tn_tensor* x = call("reshape", {tensor(flat), ints(shape)});
  tn_tensor* columns = call("permute", {tensor(x), ints(axes)});
  tn_tensor* backwards = call("flip", {tensor(flat), ints(first)});
  std::vector<float> values(6);
  ok(tn_tensor_to_host(columns, values.data(), 6 * sizeof(float)));
  EXPECT_EQ(values, (std::vector<float>{1, 4, 2, 5, 3, 6}));
  ok(tn_tensor_to_host(backwards, values.data(), 6 * sizeof(float)));
  EXPECT_EQ(values, (std::vector<float>{6, 5, 4, 3, 2, 1}));

  tn_tensor* single = make({7});
  tn_tensor* spread = call("expand", {tensor(single), ints(wide)});
  values.resize(4);
  ok(tn_tensor_to_host(spread, values.data(), 4 * sizeof(float)));
  EXPECT_EQ(values, (std::vector<float>{7, 7, 7, 7}));

  // In place through the transposed view: the storage behind it must change.
  const tn_value args[2] = {tensor(columns), tensor(columns)};
  tn_tensor* const into[1] = {columns};
  ok(tn_op_call_into(tn_op_find(str("add")), args, 2, into, 1));
  values.resize(6);
  ok(tn_tensor_to_host(flat, values.data(), 6 * sizeof(float)));
  EXPECT_EQ(values, (std::vector<float>{2, 4, 6, 8, 10, 12}));
  for (tn_tensor* each : {flat, x, columns, backwards, single, spread}) tn_tensor_release(each);
}

TEST_F(Template, GoesWhenNothingLivesOnIt) {
  tn_tensor* tensor = make({1, 2, 3});
  tn_status* status = tn_plugin_quiesce(str("org.example.template"));
  EXPECT_EQ(tn_status_code(status), TN_FAILED_PRECONDITION);
  tn_status_release(status);
  tn_tensor_release(tensor);
  ok(tn_plugin_quiesce(str("org.example.template")));
}

}  // namespace
}  // namespace tenon::test
