// A plugin that brings only devices is opened when one of them is asked for. In a process of its own, because discovery runs once.
#include "plugins.hpp"
#include "tenon/tenon.hpp"

namespace tenon::test {
namespace {

TEST(PutOff, UntilADeviceIsAskedFor) {
  const Directory here;
  here.copy("good", "good.so");
  here.write("good.tenon.json", card("test.good", "good.so", R"("only_devices": true)"));
  setenv("TENON_PLUGIN_PATH", here.path().c_str(), 1);
  const std::string path = (here.path() / "good.tenon.json").string();

  // The first op searches for plugins; whether one of the system's plugins can add does not matter here.
  try {
    const Tensor sum = full({2}, 1.0f) + full({2}, 2.0f);
  } catch (const Error&) {
  }
  EXPECT_NE(reason_of(path).find("when a device is first asked for"), std::string::npos)
      << reason_of(path);
  tn_device* host = nullptr;
  EXPECT_EQ(take(tn_device_find(str("cpu"), &host)).code, TN_OK);
  EXPECT_NE(reason_of(path), "loaded");

  EXPECT_TRUE(has_device("test.good"));
  EXPECT_EQ(reason_of(path), "loaded");
  EXPECT_EQ(quiesce("test.good").code, TN_OK);
}

}  // namespace
}  // namespace tenon::test
