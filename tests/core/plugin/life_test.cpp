// A plugin's life: loaded, used, quiesced, loaded again.
#include <cstring>
#include <thread>
#include <vector>

#include "plugins.hpp"

namespace tenon::test {
namespace {

tn_tensor* empty_on(std::string_view name) {
  tn_device* device = nullptr;
  EXPECT_EQ(take(tn_device_find(str(name), &device)).code, TN_OK);
  const int64_t shape[] = {100};
  tn_tensor* tensor = nullptr;
  EXPECT_EQ(take(tn_tensor_empty(TN_DTYPE_F32, 1, shape, device, &tensor)).code, TN_OK);
  return tensor;
}

uint64_t used_on(std::string_view name) {
  tn_device* device = nullptr;
  EXPECT_EQ(take(tn_device_find(str(name), &device)).code, TN_OK);
  tn_memory_stats stats{};
  stats.struct_size = sizeof stats;
  EXPECT_EQ(take(tn_memory_get_stats(device, &stats)).code, TN_OK);
  return stats.used;
}

Outcome call(const char* op, tn_tensor* x, tn_tensor** out) {
  tn_value arg{TN_VALUE_TENSOR, 0, {}};
  arg.as.tensor = x;
  return take(tn_op_call(tn_op_find(str(op)), &arg, 1, out, 1));
}

TEST(Life, InfoTellsWhatWasLoaded) {
  ASSERT_EQ(load(built("good")).code, TN_OK);
  const auto info = info_of("broken_good.so");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->state, TN_PLUGIN_LOADED);
  EXPECT_EQ(text(info->id), "test.good");
  EXPECT_EQ(text(info->version), "1.2.3");
  EXPECT_EQ(info->device_count, 1u);
  EXPECT_EQ(info->kernel_count, 1u);
  EXPECT_EQ(text(info->reason), "");
}

TEST(Life, AnOlderProgramsInfoIsFilledAsFarAsItGoes) {
  ASSERT_EQ(load(built("good")).code, TN_OK);
  tn_plugin_info info;
  std::memset(&info, 0x5a, sizeof info);
  info.struct_size = offsetof(tn_plugin_info, version);
  EXPECT_EQ(take(tn_plugin_get_info(0, &info)).code, TN_OK);
  EXPECT_EQ(info.version.size, 0x5a5a5a5a5a5a5a5au);
  EXPECT_EQ(take(tn_plugin_get_info(100000, &info)).code, TN_OUT_OF_RANGE);
  EXPECT_EQ(take(tn_plugin_get_info(0, nullptr)).code, TN_INVALID_ARGUMENT);
}

TEST(Life, LoadingTwiceIsOnce) {
  ASSERT_EQ(load(built("good")).code, TN_OK);
  const uint32_t count = tn_plugin_count();
  EXPECT_EQ(load(built("good")).code, TN_OK);
  EXPECT_EQ(tn_plugin_count(), count);
}

TEST(Life, ASecondPluginOfAnIdIsRefused) {
  ASSERT_EQ(load(built("good")).code, TN_OK);
  const Outcome outcome = load(built("twin"));
  EXPECT_EQ(outcome.code, TN_ALREADY_EXISTS);
  EXPECT_NE(outcome.message.find("\"test.good\" is loaded already, from " + built("good").string()),
            std::string::npos)
      << outcome;
  EXPECT_FALSE(has_device("test.twin"));
}

TEST(Life, TablesOfOtherMinorsLoad) {
  for (const char* name : {"older_table", "newer_table"}) {
    const std::string id = "test." + std::string(name);
    const Outcome outcome = load(built(name));
    EXPECT_EQ(outcome.code, TN_OK) << outcome;
    EXPECT_TRUE(has_device(id));
    EXPECT_EQ(quiesce(id).code, TN_OK);
  }
}

TEST(Life, AMissingSlotIsAnAnswer) {
  ASSERT_EQ(load(built("short_memory")).code, TN_OK);
  tn_device* device = nullptr;
  ASSERT_EQ(take(tn_device_find(str("test.short_memory"), &device)).code, TN_OK);
  const int64_t shape[] = {100};
  tn_tensor* tensor = nullptr;
  const Outcome outcome = take(tn_tensor_empty(TN_DTYPE_F32, 1, shape, device, &tensor));
  EXPECT_EQ(outcome.code, TN_UNIMPLEMENTED);
  EXPECT_NE(outcome.message.find("memory.allocate"), std::string::npos) << outcome;
  EXPECT_EQ(take(tn_device_synchronize(device)).code, TN_UNIMPLEMENTED);
  tn_device_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(take(tn_device_get_info(device, &info)).code, TN_OK);
  EXPECT_NE(info.name.data, nullptr);
  EXPECT_EQ(quiesce("test.short_memory").code, TN_OK);
}

TEST(Life, WithoutDevicesTheReasonIsPassedOn) {
  ASSERT_EQ(load(built("no_device")).code, TN_OK);
  const auto info = info_of("broken_no_device.so");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->device_count, 0u);
  EXPECT_EQ(text(info->reason), "no driver found");
  tn_device* device = nullptr;
  const Outcome outcome = take(tn_device_find(str("test.no_device"), &device));
  EXPECT_EQ(outcome.code, TN_NOT_FOUND);
  EXPECT_NE(outcome.message.find("no driver found"), std::string::npos) << outcome;
}

TEST(Life, QuiesceWaitsForTensors) {
  ASSERT_EQ(load(built("good")).code, TN_OK);
  tn_tensor* tensor = empty_on("test.good");
  const Outcome refused = quiesce("test.good");
  EXPECT_EQ(refused.code, TN_FAILED_PRECONDITION);
  EXPECT_NE(refused.message.find("test.good:0"), std::string::npos) << refused;
  expect_good_works();
  tn_tensor_release(tensor);
  EXPECT_EQ(quiesce("test.good").code, TN_OK);
  EXPECT_FALSE(has_device("test.good"));
  EXPECT_EQ(info_of("broken_good.so")->state, TN_PLUGIN_QUIESCED);
  EXPECT_EQ(quiesce("test.good").code, TN_NOT_FOUND);
}

TEST(Life, AKernelMayComeBeforeItsOp) {
  ASSERT_EQ(load(built("early")).code, TN_OK);
  ASSERT_EQ(quiesce("test.early").code, TN_OK);  // waiting kernels are dropped with it
  for (const char* name : {"early", "early_other", "early_no_run"}) {
    const Outcome outcome = load(built(name));
    ASSERT_EQ(outcome.code, TN_OK) << outcome;
  }
  EXPECT_EQ(tn_op_find(str("test.late")), nullptr);
  EXPECT_EQ(info_of("broken_early.so")->kernel_count, 0u);
  const Outcome late = load(built("late"));
  ASSERT_EQ(late.code, TN_OK) << late;
  EXPECT_EQ(info_of("broken_early.so")->kernel_count, 1u);
  EXPECT_EQ(info_of("broken_early_other.so")->kernel_count, 0u);  // written for another op
  EXPECT_EQ(info_of("broken_early_no_run.so")->kernel_count, 0u);

  tn_tensor *x = empty_on("cpu"), *y = nullptr;
  static_cast<float*>(tn_tensor_data(x))[99] = 1;
  const Outcome outcome = call("test.late", x, &y);
  ASSERT_EQ(outcome.code, TN_OK) << outcome;
  EXPECT_EQ(static_cast<const float*>(tn_tensor_data(y))[99], 42);
  tn_tensor_release(y);
  EXPECT_EQ(quiesce("test.early").code, TN_OK);
  ASSERT_EQ(call("test.late", x, &y).code, TN_OK);
  EXPECT_EQ(static_cast<const float*>(tn_tensor_data(y))[99], 2);  // its decomposition
  tn_tensor_release(y);
  tn_tensor_release(x);
}

TEST(Life, AnOpMayHaveNoResults) {
  const Outcome loaded = load(built("fill"));
  ASSERT_EQ(loaded.code, TN_OK) << loaded;
  tn_tensor* x = empty_on("cpu");
  const uint32_t version = tn_tensor_version(x);
  tn_value args[2] = {{TN_VALUE_TENSOR, 0, {}}, {TN_VALUE_FLOAT, 0, {}}};
  args[0].as.tensor = x;
  args[1].as.f = 5;
  const tn_op* fill = tn_op_find(str("test.fill"));
  EXPECT_EQ(take(tn_op_call(fill, args, 1, nullptr, 0)).code, TN_OK);
  EXPECT_EQ(static_cast<const float*>(tn_tensor_data(x))[99], 7);
  EXPECT_EQ(take(tn_op_call(fill, args, 2, nullptr, 0)).code, TN_OK);
  EXPECT_EQ(static_cast<const float*>(tn_tensor_data(x))[0], 5);
  EXPECT_EQ(tn_tensor_version(x), version + 2);
  tn_tensor* none = nullptr;
  EXPECT_EQ(take(tn_op_call(fill, args, 1, &none, 1)).code, TN_INVALID_ARGUMENT);
  tn_tensor_release(x);
}

// A tensor of rank 0 may join another device, as a copy, to which nothing must be written.
TEST(Life, WhatIsWrittenToMustBeOnTheDevice) {
  ASSERT_EQ(load(built("good")).code, TN_OK);
  tn_tensor *param = nullptr, *grad = empty_on("test.good");
  ASSERT_EQ(take(tn_tensor_empty(TN_DTYPE_F32, 0, nullptr, nullptr, &param)).code, TN_OK);
  tn_value args[4] = {{TN_VALUE_TENSORS, 1, {}},
                      {TN_VALUE_TENSORS, 1, {}},
                      {TN_VALUE_TENSORS, 0, {}},
                      {TN_VALUE_FLOAT, 0, {}}};
  args[0].as.tensors = &param;
  args[1].as.tensors = &grad;
  const Outcome refused = take(tn_op_call(tn_op_find(str("sgd_step")), args, 4, nullptr, 0));
  EXPECT_EQ(refused.code, TN_INVALID_ARGUMENT) << refused;
  EXPECT_EQ(
      refused.message,
      "[sgd_step] argument 'params' is written to and must be on test.good:0, but is on cpu:0");
  tn_tensor_release(param);
  tn_tensor_release(grad);
}

TEST(Life, AKernelsErrorNamesTheOpAndLeavesNoScratch) {
  ASSERT_EQ(load(built("fill")).code, TN_OK);
  tn_tensor* x = empty_on("cpu");
  const uint64_t used = used_on("cpu");
  tn_value args[2] = {{TN_VALUE_TENSOR, 0, {}}, {TN_VALUE_FLOAT, 0, {}}};
  args[0].as.tensor = x;
  args[1].as.f = -1;
  const Outcome failed = take(tn_op_call(tn_op_find(str("test.fill")), args, 2, nullptr, 0));
  EXPECT_EQ(failed.code, TN_DEVICE_LOST);
  EXPECT_EQ(failed.message, "[test.fill] [driver] negative");
  EXPECT_EQ(used_on("cpu"), used);
  tn_tensor_release(x);
}

TEST(Life, OpsThatNothingComputesAreErrors) {
  ASSERT_EQ(load(built("endless")).code, TN_OK);
  tn_tensor *x = empty_on("cpu"), *y = nullptr;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Outcome endless = call("test.endless", x, &y);
    EXPECT_EQ(endless.code, TN_INVALID_ARGUMENT) << endless;
    EXPECT_NE(endless.message.find("comes back to itself"), std::string::npos) << endless;
  }
  const Outcome empty = call("test.empty", x, &y);
  EXPECT_EQ(empty.code, TN_UNIMPLEMENTED) << empty;
  EXPECT_NE(empty.message.find("no decomposition"), std::string::npos) << empty;
  EXPECT_EQ(empty.message.find("CPU plugin"), std::string::npos) << empty;
  tn_tensor_release(x);
}

TEST(Life, CyclesLeaveNothing) {
  for (int cycle = 0; cycle < 50; ++cycle) {
    expect_good_works();
    ASSERT_EQ(quiesce("test.good").code, TN_OK);
  }
  EXPECT_EQ(quiesce("no such plugin").code, TN_NOT_FOUND);
}

TEST(Life, AFailingQuiesceIsReported) {
  ASSERT_EQ(load(built("quiesce_fails")).code, TN_OK);
  const Outcome outcome = quiesce("test.quiesce_fails");
  EXPECT_EQ(outcome.code, TN_DEVICE_LOST);
  EXPECT_NE(outcome.message.find("still busy"), std::string::npos);
  EXPECT_FALSE(has_device("test.quiesce_fails"));
  EXPECT_EQ(reason_of("broken_quiesce_fails.so"), "still busy");
}

TEST(Life, AnOpGoesWithItsPluginAndComesBack) {
  for (int cycle = 0; cycle < 2; ++cycle) {
    const Outcome loaded = load(built("op"));
    ASSERT_EQ(loaded.code, TN_OK) << loaded;
    ASSERT_NE(tn_op_find(str("test.twice")), nullptr);
    tn_tensor* x = empty_on("test.op");
    tn_tensor* twice = nullptr;
    const Outcome called = call("test.twice", x, &twice);
    ASSERT_EQ(called.code, TN_OK) << called;
    EXPECT_EQ(static_cast<float*>(tn_tensor_data(twice))[0], 42);
    tn_tensor_release(twice);
    tn_tensor_release(x);
    ASSERT_EQ(quiesce("test.op").code, TN_OK);
    x = empty_on("cpu");
    const Outcome gone = call("test.twice", x, &twice);
    EXPECT_EQ(gone.code, TN_FAILED_PRECONDITION) << gone;
    EXPECT_NE(gone.message.find("[test.twice] plugin \"test.op\" was quiesced"), std::string::npos)
        << gone;
    tn_tensor_release(x);
  }
  EXPECT_EQ(tn_op_find(str("test.left_behind")), nullptr);
}

std::string placement() {
  std::string report;
  tn_placement_report([](void* to, tn_str chunk) { *static_cast<std::string*>(to) += text(chunk); },
                      &report);
  return report;
}

TEST(Life, AKernelOfHigherPriorityRunsWhatItSupports) {
  const tn_op* softmax = tn_op_find(str("softmax"));
  tn_device* cpu = nullptr;
  ASSERT_EQ(take(tn_device_find(str("cpu"), &cpu)).code, TN_OK);
  const auto provider = [&] { return text(tn_op_provider(softmax, cpu, TN_DTYPE_F32)); };
  if (provider() != "cpu") GTEST_SKIP() << "the CPU plugin is not built";
  ASSERT_EQ(load(built("faster")).code, TN_OK);
  EXPECT_EQ(provider(), "test.faster");
  tn_placement_enable(1);
  for (const int64_t columns : {2, 1}) {  // it leaves rows of one element to the CPU plugin
    const int64_t shape[] = {3, columns};
    tn_tensor* x = nullptr;
    ASSERT_EQ(take(tn_tensor_empty(TN_DTYPE_F32, 2, shape, cpu, &x)).code, TN_OK);
    for (int64_t i = 0; i < 3 * columns; ++i) static_cast<float*>(tn_tensor_data(x))[i] = 7;
    tn_value args[2] = {{TN_VALUE_TENSOR, 0, {}}, {TN_VALUE_INT, 0, {}}};
    args[0].as.tensor = x;
    args[1].as.i = 1;
    tn_tensor* y = nullptr;
    const Outcome outcome = take(tn_op_call(softmax, args, 2, &y, 1));
    ASSERT_EQ(outcome.code, TN_OK) << outcome;
    EXPECT_FLOAT_EQ(static_cast<float*>(tn_tensor_data(y))[0], 1.0f / static_cast<float>(columns));
    tn_tensor_release(y);
    tn_tensor_release(x);
  }
  tn_placement_enable(0);
  const std::string report = placement();
  EXPECT_NE(report.find("softmax test.faster 1"), std::string::npos) << report;
  EXPECT_NE(report.find("softmax cpu 1"), std::string::npos) << report;
  EXPECT_EQ(quiesce("test.faster").code, TN_OK);
  EXPECT_EQ(provider(), "cpu");
}

TEST(Life, ThreadsMayLoadAndQuiesceAtOnce) {
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([] {
      for (int i = 0; i < 25; ++i) {
        load(built("start_fails"));
        load(built("older_table"));
        quiesce("test.older_table");
        tn_device_count();
        info_of("broken_older_table.so");
      }
    });
  for (std::thread& thread : threads) thread.join();
  load(built("older_table"));
  EXPECT_EQ(reason_of("broken_older_table.so"), "loaded");
  EXPECT_EQ(quiesce("test.older_table").code, TN_OK);
}

}  // namespace
}  // namespace tenon::test
