// A plugin that the program opened by its path has a kernel for one dtype; a call with another dtype starts the search for more plugins. In
// a process of its own, because discovery runs once.
#include <cstring>

#include "plugins.hpp"

namespace tenon::test {
namespace {

Outcome add(tn_dtype dtype) {
  const double zeros[3] = {};
  const int64_t shape[] = {3};
  tn_tensor *x = nullptr, *sum = nullptr;
  EXPECT_EQ(take(tn_tensor_empty(dtype, 1, shape, nullptr, &x)).code, TN_OK);
  std::memcpy(tn_tensor_data(x), zeros, dtype == TN_DTYPE_F64 ? 24 : 12);
  tn_value args[2] = {{TN_VALUE_TENSOR, 0, {}}, {TN_VALUE_TENSOR, 0, {}}};
  args[0].as.tensor = args[1].as.tensor = x;
  Outcome outcome = take(tn_op_call(tn_op_find(str("add")), args, 2, &sum, 1));
  tn_tensor_release(sum);
  tn_tensor_release(x);
  return outcome;
}

TEST(Partial, MissingKernelsAreDiscovered) {
  const Directory here;
  here.copy("adds_f64", "adds_f64.so");
  here.write("adds_f64.tenon.json", card("test.adds_f64", "adds_f64.so"));
  setenv("TENON_PLUGIN_PATH", here.path().c_str(), 1);
  const std::string found = (here.path() / "adds_f64.tenon.json").string();

  ASSERT_EQ(load(built("adds_f32")).code, TN_OK);
  EXPECT_EQ(add(TN_DTYPE_F32).code, TN_OK);
  EXPECT_EQ(reason_of(found), "never seen");  // nothing needed it
  const Outcome outcome = add(TN_DTYPE_F64);
  EXPECT_EQ(outcome.code, TN_OK) << outcome;
  EXPECT_EQ(reason_of(found), "loaded");
}

}  // namespace
}  // namespace tenon::test
