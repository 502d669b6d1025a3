// The C++ layer over a host table made for tests: barrier, completion of tables, access to calls.
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "fake_host.hpp"

namespace tenon::sdk {
namespace {

TEST_F(Sugar, TheBarrierTurnsExceptionsIntoStatuses) {
  EXPECT_EQ(guard([] {}), nullptr);
  EXPECT_EQ(guard([]() -> Status { return nullptr; }), nullptr);
  expect(guard([] { fail(TN_OUT_OF_RANGE, "[pad] size ", 3, " of ", std::string("x")); }),
         TN_OUT_OF_RANGE, "[pad] size 3 of x");
  expect(guard([] { throw std::runtime_error("broke"); }), TN_INTERNAL, "broke");
  expect(guard([] { throw std::bad_alloc(); }), TN_OUT_OF_MEMORY, "out of host memory");
  expect(guard([] { throw 5; }), TN_INTERNAL, "unknown exception");
}

TEST_F(Sugar, CheckThrowsTheHostsErrors) {
  check(nullptr);
  try {
    check(own.make_status(TN_IO, str_of("unreadable")));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), TN_IO);
    EXPECT_STREQ(error.what(), "unreadable");
  }
}

TEST_F(Sugar, AnOlderHostsMissingSlotsAreCallable) {
  own.struct_size = offsetof(tn_host, make_output);
  adopt_host(&own);
  EXPECT_EQ(host()->op_find(str_of("add")), nullptr);
  EXPECT_EQ(host()->get_interface(str_of("tn.graph"), 1), nullptr);
  EXPECT_EQ(host()->grad_needed(nullptr, 0), 0u);
  host()->tensor_release(nullptr);
  expect(host()->grad_set(nullptr, 0, nullptr), TN_UNIMPLEMENTED,
         "the host is older and has no such function");
  expect(host()->call_layer_push(nullptr), TN_UNIMPLEMENTED,
         "the host is older and has no such function");
  EXPECT_EQ(host()->struct_size, sizeof(tn_host));
}

void add_floats(const Call& call) {
  map<float, float, float>(call, [](float x, float y) { return x + y; });
}
void throws(const Call&) { fail(TN_INVALID_ARGUMENT, "[add] no"); }

TEST_F(Sugar, MapFollowsTheLoop) {
  // out[i][j] = a[i][j] + b[j]; `a` is transposed in memory.
  float a[6] = {0, 3, 1, 4, 2, 5}, b[3] = {10, 20, 30}, out[6] = {};
  const int64_t shape[2] = {2, 3}, out_strides[2] = {3, 1}, a_strides[2] = {1, 2},
                b_strides[2] = {0, 1};
  const auto view = [&](void* data, const int64_t* strides) {
    tn_view made{};
    made.struct_size = sizeof made;
    made.dtype = TN_DTYPE_F32;
    made.ndim = 2;
    made.data = data;
    made.shape = shape;
    made.strides = strides;
    return made;
  };
  const tn_view views[3] = {view(out, out_strides), view(a, a_strides), view(b, b_strides)};
  const int64_t* strides[3] = {out_strides, a_strides, b_strides};
  const tn_loop loop = {sizeof(tn_loop), 2, 0, 3, shape, strides};
  tn_value args[2] = {{TN_VALUE_VIEW, 0, {}}, {TN_VALUE_VIEW, 0, {}}};
  args[0].as.view = &views[1];
  args[1].as.view = &views[2];
  const tn_view* outs[1] = {&views[0]};
  tn_call call{};
  call.struct_size = sizeof call;
  call.args = args;
  call.nargs = 2;
  call.nouts = 1;
  call.outs = outs;
  call.loop = &loop;
  for (const tn_kernel& kernel :
       {make_kernel<add_floats>("add(Tensor x, Tensor y) -> Tensor @1", TN_MASK_FLOAT),
        make_kernel("add(Tensor x, Tensor y) -> Tensor @1", TN_MASK_FLOAT, add_floats)}) {
    std::fill(std::begin(out), std::end(out), 0.0f);
    EXPECT_EQ(kernel.struct_size, sizeof(tn_kernel));
    EXPECT_EQ(kernel.run(kernel.self, nullptr, &call), nullptr);
    const float expected[6] = {10, 21, 32, 13, 24, 35};
    for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], expected[i]);
  }
  const tn_kernel bad = make_kernel<throws>("add(Tensor x, Tensor y) -> Tensor @1", TN_MASK_FLOAT);
  expect(bad.run(bad.self, nullptr, &call), TN_INVALID_ARGUMENT, "[add] no");

  EXPECT_EQ(numel(views[1]), 6);
  EXPECT_EQ(elements<float>(views[0]).size(), 6u);
  EXPECT_EQ(at<float>(views[1], 1, 2), 5);
  EXPECT_EQ(&Call(call).in(1), &views[2]);
}

TEST_F(Sugar, ArgumentsAsTheyAre) {
  const int64_t list[2] = {7, 8};
  tn_value args[6] = {{TN_VALUE_NONE, 0, {}}, {TN_VALUE_INT, 0, {}},  {TN_VALUE_FLOAT, 0, {}},
                      {TN_VALUE_STR, 3, {}},  {TN_VALUE_INTS, 2, {}}, {TN_VALUE_BOOL, 0, {}}};
  args[1].as.i = -5;
  args[2].as.f = 0.5;
  args[3].as.str = "sum";
  args[4].as.ints = list;
  args[5].as.i = 1;
  tn_call raw{};
  raw.struct_size = sizeof raw;
  raw.args = args;
  raw.nargs = 6;
  const Call call(raw);
  EXPECT_FALSE(call.has(0));
  EXPECT_EQ(call.in_or_null(0), nullptr);
  EXPECT_EQ(call.integer(1), -5);
  EXPECT_EQ(call.real(1), -5.0);
  EXPECT_EQ(call.real(2), 0.5);
  EXPECT_EQ(call.str(3), "sum");
  EXPECT_EQ(call.ints(4)[1], 8);
  EXPECT_EQ(call.seed(4), 7u);
  EXPECT_EQ(call.offset(4), 8u);
  EXPECT_TRUE(call.flag(5));
}

}  // namespace
}  // namespace tenon::sdk
