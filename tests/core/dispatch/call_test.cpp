// Calls of kernels that the test itself registers: resolution, priorities, plans, scratch memory, promotion, errors.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/call.hpp"
#include "dispatch/plan_cache.hpp"

namespace tenon::core {
namespace {

struct Counters {
  int runs = 0, prepared = 0, released = 0, asked = 0;
  uint32_t flags = 0, ndim = 0;
  bool scalar = false;
};
Counters g_count;

const char kAdd[] = "logaddexp(Tensor x, Tensor y) -> Tensor @1";  // stands in for any binary op

tn_kernel kernel(int32_t priority, uint64_t dtypes = TN_MASK_ALL) {
  tn_kernel k{};
  k.struct_size = sizeof(k);
  k.op = to_str(kAdd);
  k.dtypes = dtypes;
  k.priority = priority;
  k.flags = TN_KERNEL_HOST_SCALARS;
  k.run = [](void*, void*, const tn_call* call) -> tn_status* {
    ++g_count.runs;
    g_count.flags = call->flags;
    g_count.ndim = call->loop->ndim;
    g_count.scalar = (call->args[1].as.view->flags & TN_VIEW_SCALAR) != 0;
    std::memset(call->outs[0]->data, 0,
                static_cast<size_t>(call->loop->ndim == 1 ? call->loop->shape[0] * 4 : 4));
    return nullptr;
  };
  return k;
}

class Calls : public testing::Test {
 protected:
  void SetUp() override { g_count = {}; }
  void TearDown() override {
    for (const char* id : {"test.a", "test.b"}) unregister_kernels(id);
  }
  Ref add(const tn_value& x, const tn_value& y) {
    tn_value args[2] = {x, y};
    tn_tensor* out = nullptr;
    call(require_op("logaddexp"), args, 2, &out, 1);
    return Ref(out);
  }
  Ref floats(std::vector<int64_t> shape, tn_dtype dtype = TN_DTYPE_F32) {
    return Ref(make_tensor(dtype, shape, host_device()));
  }
  static uint64_t used_memory() {
    tn_memory_stats stats{};
    stats.struct_size = sizeof stats;
    check(tn_memory_get_stats(&host_device(), &stats));
    return stats.used;
  }
  std::string error_of(auto&& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(Calls, HighestPriorityWinsAndLeavesAgain) {
  tn_kernel low = kernel(1000), high = kernel(2000);
  register_kernels("test.a", "cpu", {&low, 1});
  register_kernels("test.b", "cpu", {&high, 1});
  const tn_op& op = require_op("logaddexp");
  EXPECT_EQ(to_view(tn_op_provider(&op, &host_device(), TN_DTYPE_F32)), "test.b");
  EXPECT_EQ(count_kernels("test.b"), 1u);
  unregister_kernels("test.b");
  EXPECT_EQ(to_view(tn_op_provider(&op, &host_device(), TN_DTYPE_F32)), "test.a");
}

TEST_F(Calls, ContiguousOperandsAndNumbersAreOneLoop) {
  tn_kernel k = kernel(3000);
  register_kernels("test.a", "cpu", {&k, 1});
  Ref x = floats({4, 5});
  add(tensor_value(x.get()), tensor_value(x.get()));
  EXPECT_EQ(g_count.flags, TN_CALL_CONTIGUOUS);
  tn_value number{TN_VALUE_FLOAT, 0, {}};
  number.as.f = 2;
  Ref y = add(tensor_value(x.get()), number);
  EXPECT_TRUE(g_count.scalar);
  EXPECT_EQ(y->dtype(), uint32_t{TN_DTYPE_F32});
}

TEST_F(Calls, SupportsIsAskedInOrder) {
  static auto refuse = [](void*, const tn_call*, uint32_t* yes) -> tn_status* {
    ++g_count.asked;
    *yes = 0;
    return nullptr;
  };
  tn_kernel picky = kernel(5000), plain = kernel(4000);
  picky.supports = refuse;
  register_kernels("test.a", "cpu", {&picky, 1});
  register_kernels("test.b", "cpu", {&plain, 1});
  Ref x = floats({3});
  add(tensor_value(x.get()), tensor_value(x.get()));
  EXPECT_EQ(g_count.asked, 1);
  EXPECT_EQ(g_count.runs, 1);
}

TEST_F(Calls, PlansAreMadeOnceAShapeAndReleasedWithTheKernel) {
  tn_kernel k = kernel(6000);
  k.prepare = [](void*, const tn_call*, void** plan) -> tn_status* {
    ++g_count.prepared;
    *plan = &g_count;
    return nullptr;
  };
  k.release = [](void*, void* plan) { g_count.released += plan == &g_count; };
  register_kernels("test.a", "cpu", {&k, 1});
  Ref x = floats({3}), y = floats({4});
  for (int i = 0; i < 3; ++i) add(tensor_value(x.get()), tensor_value(x.get()));
  add(tensor_value(y.get()), tensor_value(y.get()));
  EXPECT_EQ(g_count.prepared, 2);
  EXPECT_EQ(g_count.released, 0);
  unregister_kernels("test.a");
  EXPECT_EQ(g_count.released, 2);
}

TEST_F(Calls, ScratchMemoryIsThereAndAligned) {
  tn_kernel k = kernel(6000);
  k.scratch_size = [](void*, const tn_call*, void*) -> uint64_t { return 100; };
  k.run = [](void*, void*, const tn_call* call) -> tn_status* {
    g_count.runs +=
        call->scratch != nullptr && reinterpret_cast<uintptr_t>(call->scratch) % 64 == 0;
    return nullptr;
  };
  register_kernels("test.a", "cpu", {&k, 1});
  Ref x = floats({3});
  add(tensor_value(x.get()), tensor_value(x.get()));
  EXPECT_EQ(g_count.runs, 1);
}

TEST_F(Calls, AKernelsErrorReachesTheCaller) {
  tn_kernel k = kernel(6000);
  k.run = [](void*, void*, const tn_call*) {
    return tn_status_make(TN_DEVICE_LOST, to_str("gone"));
  };
  register_kernels("test.a", "cpu", {&k, 1});
  Ref x = floats({3});
  EXPECT_EQ(error_of([&] { add(tensor_value(x.get()), tensor_value(x.get())); }),
            "[logaddexp] gone");
}

// A plugin in C++ without the SDK's barrier. Its own name in brackets is no op's.
TEST_F(Calls, WhatLeavesAKernelNamesTheOpAndFreesItsScratch) {
  static const std::vector<std::pair<std::string, std::function<tn_status*()>>> ways = {
      {"no room", []() -> tn_status* { throw std::runtime_error("no room"); }},
      {"out of host memory", []() -> tn_status* { throw std::bad_alloc(); }},
      {"unknown exception", []() -> tn_status* { throw 42; }},
      {"[backend] no room",
       [] { return tn_status_make(TN_INTERNAL, to_str("[backend] no room")); }},
      {"[ no room", [] { return tn_status_make(TN_INTERNAL, to_str("[ no room")); }}};
  static size_t way;
  tn_kernel k = kernel(6000);
  k.run = [](void*, void*, const tn_call*) { return ways[way].second(); };
  Ref x = floats({3});
  for (const bool scratch : {false, true}) {  // without, the short path is taken
    if (scratch) k.scratch_size = [](void*, const tn_call*, void*) -> uint64_t { return 1 << 20; };
    register_kernels("test.a", "cpu", {&k, 1});
    for (way = 0; way < ways.size(); ++way) {
      const uint64_t used = used_memory();
      const tn_value args[] = {tensor_value(x.get()), tensor_value(x.get())};
      tn_tensor* out = nullptr;
      tn_status* status = tn_op_call(&require_op("logaddexp"), args, 2, &out, 1);
      EXPECT_EQ(to_view(tn_status_message(status)), "[logaddexp] " + ways[way].first);
      EXPECT_EQ(out, nullptr);
      EXPECT_EQ(used_memory(), used);
      tn_status_release(status);
    }
    unregister_kernels("test.a");
  }
}

TEST_F(Calls, AnErrorOfAnotherOpKeepsItsName) {
  tn_kernel k = kernel(6000);
  k.run = [](void*, void*, const tn_call*) {
    return tn_status_make(TN_INVALID_ARGUMENT, to_str("[mul] no"));
  };
  register_kernels("test.a", "cpu", {&k, 1});
  Ref x = floats({3});
  EXPECT_EQ(error_of([&] { add(tensor_value(x.get()), tensor_value(x.get())); }), "[mul] no");
}

// A kernel that copies x, and notes where the dimension is.
struct Along {
  int64_t dim = -1;
  std::vector<int64_t> shape;
  uint32_t flags = 0;
};
Along g_along;

tn_kernel along_kernel(uint32_t flags) {
  tn_kernel k = kernel(8000);
  k.op = to_str("softmax(Tensor x, int dim) -> Tensor @1");
  k.flags = flags;
  k.run = [](void*, void*, const tn_call* call) -> tn_status* {
    const tn_view& x = *call->args[0].as.view;
    g_along = {call->args[1].as.i, {x.shape, x.shape + x.ndim}, call->flags};
    std::memcpy(call->outs[0]->data, x.data, 24 * sizeof(float));
    return nullptr;
  };
  return k;
}

TEST_F(Calls, TheDimensionIsMovedLastUnlessTheKernelReadsIt) {
  Ref x = floats({2, 3, 4});
  for (int i = 0; i < 24; ++i) static_cast<float*>(x->view.data)[i] = static_cast<float>(i);
  for (const uint32_t flags : {0u, TN_KERNEL_ANY_DIM}) {
    tn_kernel k = along_kernel(flags);
    register_kernels("test.a", "cpu", {&k, 1});
    const tn_value args[] = {tensor_value(x.get()), int_value(TN_VALUE_INT, 1)};
    tn_tensor* out = nullptr;
    call(require_op("softmax"), args, 2, &out, 1);
    const Ref result(out);
    EXPECT_EQ(g_along.dim, flags == 0 ? 2 : 1);
    EXPECT_EQ(g_along.shape, (std::vector<int64_t>{2, flags == 0 ? 4 : 3, flags == 0 ? 3 : 4}));
    EXPECT_EQ(g_along.flags, flags == 0 ? 0u : TN_CALL_ANY_DIM);
    EXPECT_TRUE(result->contiguous());
    EXPECT_EQ(std::memcmp(result->view.data, x->view.data, 24 * sizeof(float)), 0);
    Ref given = floats({2, 3, 4});  // the same into a tensor of the caller
    tn_tensor* into = given.get();
    call_into(require_op("softmax"), args, 2, &into, 1);
    EXPECT_EQ(std::memcmp(given->view.data, x->view.data, 24 * sizeof(float)), 0);
    unregister_kernels("test.a");
  }
}

TEST_F(Calls, ANumberIsOneRow) {
  for (const uint32_t flags : {0u, TN_KERNEL_ANY_DIM}) {
    tn_kernel k = along_kernel(flags);
    k.run = [](void*, void*, const tn_call* call) -> tn_status* {
      const tn_view &x = *call->args[0].as.view, &out = *call->outs[0];
      g_along = {call->args[1].as.i, {x.shape, x.shape + x.ndim}, call->flags};
      EXPECT_EQ(out.ndim, 1u);
      return nullptr;
    };
    register_kernels("test.a", "cpu", {&k, 1});
    Ref x = floats({});
    const tn_value args[] = {tensor_value(x.get()), int_value(TN_VALUE_INT, -1)};
    tn_tensor* out = nullptr;
    call(require_op("softmax"), args, 2, &out, 1);
    EXPECT_EQ(Ref(out)->ndim(), 0u);
    EXPECT_EQ(g_along.dim, 0);
    EXPECT_EQ(g_along.shape, std::vector<int64_t>{1});
    EXPECT_EQ(g_along.flags, 0u);
    unregister_kernels("test.a");
  }
}

TEST_F(Calls, RegistrationIsAllOrNothing) {
  tn_kernel two[2] = {kernel(7000), kernel(7000)};
  two[1].op = to_str("logaddexp(Tensor x, Tensor y) -> Tensor @2");
  std::string error = error_of([&] { register_kernels("test.a", "cpu", two); });
  EXPECT_NE(error.find("@2"), std::string::npos) << error;
  EXPECT_EQ(count_kernels("test.a"), 0u);
  two[1].op = to_str("no_such_op(Tensor x) -> Tensor @1");
  error = error_of([&] { register_kernels("test.a", "cpu", two); });
  EXPECT_NE(error.find("unknown op 'no_such_op'"), std::string::npos) << error;
  two[1] = kernel(1);
  two[1].run = nullptr;
  EXPECT_NE(error_of([&] { register_kernels("test.a", "cpu", two); }).find("no run"),
            std::string::npos);
}

TEST_F(Calls, ErrorsNameOpAndValues) {
  Ref x = floats({2, 3}), y = floats({4});
  std::string error = error_of([&] { add(tensor_value(x.get()), tensor_value(y.get())); });
  EXPECT_EQ(error, "[logaddexp] shapes (2, 3) and (4,) do not broadcast");
  error = error_of([&] {
    tn_value arg = tensor_value(x.get());
    tn_tensor* out = nullptr;
    call(require_op("logaddexp"), &arg, 1, &out, 1);
  });
  EXPECT_EQ(error,
            "[logaddexp] argument 'y' is missing: logaddexp(Tensor x, Tensor y) -> Tensor @1");
  error = error_of([&] { add(tensor_value(x.get()), int_value(TN_VALUE_STR, 0)); });
  EXPECT_NE(error.find("argument 'y' must be a tensor"), std::string::npos) << error;
  EXPECT_NE(error_of([] { require_op("sofmax"); }).find("did you mean 'softmax'"),
            std::string::npos);
}

TEST_F(Calls, HooksSeeEveryCallAndMayStopIt) {
  tn_kernel k = kernel(6000);
  register_kernels("test.a", "cpu", {&k, 1});
  static std::string log;
  log.clear();
  tn_call_hooks hooks{};
  hooks.struct_size = sizeof(hooks);
  hooks.before = [](void*, const tn_op* op, const tn_value*, uint32_t) -> tn_status* {
    log += std::string(op->name()) + " ";
    return nullptr;
  };
  hooks.after = [](void*, const tn_op*, const tn_value*, uint32_t, tn_tensor* const*, uint32_t,
                   tn_str provider) { log += std::string(to_view(provider)) + ";"; };
  Ref x = floats({3});
  tn_call_hooks_set(&hooks);
  add(tensor_value(x.get()), tensor_value(x.get()));
  hooks.before = [](void*, const tn_op*, const tn_value*, uint32_t) {
    return tn_status_make(TN_CANCELLED, to_str("stop"));
  };
  std::string error = error_of([&] { add(tensor_value(x.get()), tensor_value(x.get())); });
  tn_call_hooks_set(nullptr);
  add(tensor_value(x.get()), tensor_value(x.get()));
  EXPECT_EQ(log, "logaddexp test.a;");
  EXPECT_EQ(error, "stop");
}

TEST_F(Calls, PlacementCountsCalls) {
  tn_kernel k = kernel(6000);
  register_kernels("test.a", "cpu", {&k, 1});
  Ref x = floats({3});
  tn_placement_enable(1);
  for (int i = 0; i < 3; ++i) add(tensor_value(x.get()), tensor_value(x.get()));
  tn_placement_enable(0);
  std::string text;
  tn_placement_report(
      [](void* ctx, tn_str chunk) { *static_cast<std::string*>(ctx) += to_view(chunk); }, &text);
  EXPECT_EQ(text, "logaddexp test.a 3\n");
}

}  // namespace
}  // namespace tenon::core
