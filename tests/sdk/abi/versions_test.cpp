// Two plugins with two versions of one library in one process: each keeps its own.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>

#include "support.hpp"

namespace tenon::test {
namespace {

struct Version {
  std::string name;
  float scale, offset;
  std::vector<float> apply(const std::vector<float>& values) const {
    return call(name + ".apply", {tensor(values)}).to_vector<float>();
  }
};

Version load(const std::string& name, float scale, float offset) {
  load_plugin(built(name));
  return {name, scale, offset};
}

TEST(Versions, InterleavedCallsReachTheirOwn) {
  const Version both[] = {load("version_1", 2, 1), load("version_2", 3, -1)};
  for (int i = 0; i < 100; ++i)
    for (const Version& each : both) {
      const auto value = static_cast<float>(i);
      const auto got = each.apply({value, -value - 1, 0});
      ASSERT_EQ(got[0], value * each.scale + each.offset) << each.name;
      ASSERT_EQ(got[1], value + 1) << each.name << ": its exception was caught by its type";
      ASSERT_EQ(got[2], static_cast<float>(2 * (i + 1))) << each.name << ": calls of its own";
    }
}

TEST(Versions, ThreadsEachWithOne) {
  const Version first = load("version_1", 2, 1), second = load("version_2", 3, -1);
  const auto work = [](const Version& version, bool& right) {
    for (int i = 0; i < 200 && right; ++i)
      right = version.apply({5, 0})[0] == 5 * version.scale + version.offset;
  };
  bool right[] = {true, true};
  std::thread one([&] { work(first, right[0]); }), two([&] { work(second, right[1]); });
  one.join();
  two.join();
  EXPECT_TRUE(right[0]);
  EXPECT_TRUE(right[1]);
}

// The reason why plugins are linked with sdk/plugin.map: gcc marks statics of inline functions as unique for the process, which RTLD_LOCAL
// does not undo, so the second version would work on the first one's objects.
TEST(Versions, WithoutAVersionScriptTheyCollide) {
  const void* states[2];
  for (int i = 0; i < 2; ++i) {
    const std::string path = built("open_" + std::to_string(i + 1));
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto state = reinterpret_cast<const void* (*)()>(dlsym(library, "acme_state"));
    ASSERT_NE(state, nullptr);
    states[i] = state();
  }
  EXPECT_EQ(states[0], states[1]) << "the trap is gone: this test no longer shows anything";
}

}  // namespace
}  // namespace tenon::test
