// The null backend: every op runs on it through the host, visibly, and its memory is its own.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::test {
namespace {

tn_str str(std::string_view text) { return {text.data(), text.size()}; }
void ok(tn_status* status) {
  EXPECT_EQ(status, nullptr) << std::string(tn_status_message(status).data,
                                            tn_status_message(status).size);
  tn_status_release(status);
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

TEST_F(Template, KeepsBytesThatTheHostCannotAddress) {
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
  EXPECT_EQ(std::string(info.name.data, info.name.size), "Template device");
}

TEST_F(Template, OpsRunOnTheHostAndComeBack) {
  const tn_op* add = tn_op_find(str("add"));
  tn_device* cpu = nullptr;
  ok(tn_device_find(str("cpu"), &cpu));
  if (tn_op_provider(add, cpu, TN_DTYPE_F32).size == 0)
    GTEST_SKIP() << "no plugin computes on the host here";
  const tn_str provider = tn_op_provider(add, device, TN_DTYPE_F32);
  EXPECT_EQ(std::string(provider.data, provider.size), "host fallback");
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

TEST_F(Template, GoesWhenNothingLivesOnIt) {
  tn_tensor* tensor = make({1, 2, 3});
  tn_status* status = tn_plugin_quiesce(str("template"));
  EXPECT_EQ(tn_status_code(status), TN_FAILED_PRECONDITION);
  tn_status_release(status);
  tn_tensor_release(tensor);
  ok(tn_plugin_quiesce(str("template")));
}

}  // namespace
}  // namespace tenon::test
