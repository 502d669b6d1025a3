// An op without a kernel says why the plugin that should have brought it was refused. In a process of its own, because discovery runs once.
#include "plugins.hpp"
#include "tenon/tenon.hpp"

namespace tenon::test {
namespace {

TEST(RefusedCpu, OpsWithoutKernelNameTheRefusedPlugin) {
  const Directory here;
  here.write("cpu.tenon.json", card("cpu", "absent.so"));
  setenv("TENON_PLUGIN_PATH", here.path().c_str(), 1);
  setenv("TENON_DISABLE", "cpu/*", 1);  // in case the plugin is found elsewhere
  try {
    full({2}, 1.0f);
    FAIL() << "there is a kernel";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cpu.tenon.json was refused: "), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("absent.so"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenon::test
