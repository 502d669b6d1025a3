// Directories: which are searched, in which order, and what happens to the files in them.
#include "plugins.hpp"

namespace tenon::test {
namespace {

// Puts a plugin and its card into a directory.
void install(const Directory& directory, std::string_view plugin, std::string_view id,
             std::string_view more = "") {
  const std::string library = std::string(plugin) + ".so";
  directory.copy(plugin, library);
  directory.write(std::string(plugin) + ".tenon.json", card(id, library, more));
}

TEST(Discovery, FindsWhatHasACardAndFits) {
  quiesce("test.older_table");
  const Directory here;
  install(here, "older_table", "test.older_table");
  discover(here.path());
  EXPECT_EQ(reason_of((here.path() / "older_table.tenon.json").string()), "loaded");
  EXPECT_TRUE(has_device("test.older_table"));
  EXPECT_EQ(quiesce("test.older_table").code, TN_OK);
}

TEST(Discovery, OneBadPluginHidesNoOther) {
  const Directory here;
  here.write("aaa.tenon.json", "{");
  install(here, "start_fails", "test.start_fails");
  install(here, "wrong_major", "test.wrong_major");
  here.write("bbb.so", "not a library");
  here.write("bbb.tenon.json", card("test.bbb", "bbb.so"));
  install(here, "newer_table", "test.newer_table");
  discover(here.path());
  const auto reason = [&](const char* name) { return reason_of((here.path() / name).string()); };
  EXPECT_NE(reason("aaa.tenon.json").find("not JSON"), std::string::npos);
  EXPECT_NE(reason("start_fails.tenon.json").find("changed its mind"), std::string::npos);
  EXPECT_NE(reason("wrong_major.tenon.json").find("ABI 2.0"), std::string::npos);
  EXPECT_NE(reason("bbb.tenon.json").find("not an ELF file"), std::string::npos);
  EXPECT_EQ(reason("newer_table.tenon.json"), "loaded");
  EXPECT_EQ(quiesce("test.newer_table").code, TN_OK);
}

// What a scan of TENON_PLUGIN_PATH writes to stderr.
std::string said_of(const std::string& path) {
  testing::internal::CaptureStderr();
  discover(path);
  return testing::internal::GetCapturedStderr();
}

TEST(Discovery, RefusalsInTenonPluginPathAreToldOnce) {
  const Directory here, twice;
  here.write("damaged.so", "not a library");
  here.write("damaged.tenon.json", card("test.damaged", "damaged.so"));
  here.copy("older_table", "cardless.so");
  install(here, "newer_table", "test.newer_table");
  install(twice, "newer_table", "test.newer_table");
  const std::string file = here.write("file.txt", "").string();
  const std::string path = here.path().string(), missing = path + "/missing";
  const std::string places = path + ":" + missing + ":" + file + ":" + twice.path().string();
  const std::string said = said_of(places);
  const auto tells = [&](const std::string& of, const std::string& why) {
    const size_t at = said.find("tenon: warning: TENON_PLUGIN_PATH: " + of + ": ");
    return at != std::string::npos &&
           said.substr(at, said.find('\n', at) - at).find(why) != std::string::npos;
  };
  EXPECT_TRUE(tells(path + "/damaged.tenon.json", "not an ELF file")) << said;
  EXPECT_TRUE(tells(path + "/cardless.so", "has no identity card")) << said;
  EXPECT_TRUE(tells(missing, "there is no such directory")) << said;
  EXPECT_TRUE(tells(file, "this is a file")) << said;
  EXPECT_EQ(said.find("newer_table"), std::string::npos) << said;
  EXPECT_EQ(said_of(places), "");

  tn_device* device = nullptr;
  const std::string error = take(tn_device_find(str("test.damaged"), &device)).message;
  EXPECT_NE(error.find("damaged.tenon.json was refused: "), std::string::npos) << error;
  EXPECT_EQ(quiesce("test.newer_table").code, TN_OK);
}

TEST(Discovery, EarlierDirectoriesWin) {
  const Directory first, second;
  install(first, "older_table", "test.older_table");
  install(second, "older_table", "test.older_table");
  discover(first.path().string() + ":/no/such/directory::" + second.path().string());
  EXPECT_EQ(reason_of((first.path() / "older_table.tenon.json").string()), "loaded");
  EXPECT_NE(
      reason_of((second.path() / "older_table.tenon.json").string()).find("is loaded already"),
      std::string::npos);
  EXPECT_EQ(quiesce("test.older_table").code, TN_OK);
}

TEST(Discovery, TheBestSupportedBuildWins) {
  const Directory here;
  install(here, "build_a", "test.builds");
  install(here, "build_b", "test.builds", R"("cpu_features": ["sse2"])");
  here.copy("build_a", "build_c.so");
  here.write("build_c.tenon.json",
             card("test.builds", "build_c.so", R"("cpu_features": ["sse2", "warp_drive"])"));
  discover(here.path());
#if defined(__x86_64__)
  EXPECT_EQ(reason_of((here.path() / "build_b.tenon.json").string()), "loaded");
  EXPECT_NE(reason_of((here.path() / "build_a.tenon.json").string()).find("is loaded already"),
            std::string::npos);
#else
  EXPECT_EQ(reason_of((here.path() / "build_a.tenon.json").string()), "loaded");
#endif
  EXPECT_NE(reason_of((here.path() / "build_c.tenon.json").string()).find("lacks warp_drive"),
            std::string::npos);
  EXPECT_EQ(quiesce("test.builds").code, TN_OK);
}

#if defined(__x86_64__)
// Puts a build of one backend into a directory; `plugin` needs `features`.
void install_build(const Directory& here, const std::string& name, std::string_view plugin,
                   const std::string& features, std::string_view id = "test.builds") {
  here.copy(plugin, name + ".so");
  here.write(name + ".tenon.json", card(id, name + ".so", "\"cpu_features\": [" + features + "]"));
}

TEST(Discovery, WiderRegistersCountMoreThanManyFeatures) {
  const Directory here;
  install_build(here, "a_many", "build_a", R"("sse2", "sse3", "ssse3")");
  install_build(here, "b_wide", "build_b", R"("avx")");
  install_build(here, "c_none", "build_a", "");
  if (!__builtin_cpu_supports("avx")) GTEST_SKIP() << "this CPU has no AVX";
  discover(here.path());
  EXPECT_EQ(reason_of((here.path() / "b_wide.tenon.json").string()), "loaded");
  for (const char* other : {"a_many", "c_none"})
    EXPECT_NE(reason_of((here.path() / other).string() + ".tenon.json").find("b_wide"),
              std::string::npos);
  EXPECT_EQ(quiesce("test.builds").code, TN_OK);
}

TEST(Discovery, WhenTheBestBuildFailsTheNextOneIsTaken) {
  const Directory here;
  faulty(here, "best.so", "constructor.quick");
  here.write("best.tenon.json",
             card("test.faulty", "best.so", R"("cpu_features": ["sse2", "sse3"])"));
  faulty(here, "good.so", "none");
  here.write("good.tenon.json", card("test.faulty", "good.so", R"("cpu_features": ["sse2"])"));
  faulty(here, "plain.so", "none");
  here.write("plain.tenon.json", card("test.faulty", "plain.so"));
  discover(here.path());
  EXPECT_NE(reason_of((here.path() / "best.tenon.json").string()).find("exit status 7"),
            std::string::npos);
  EXPECT_EQ(reason_of((here.path() / "good.tenon.json").string()), "loaded");
  EXPECT_NE(reason_of((here.path() / "plain.tenon.json").string()).find("is loaded already"),
            std::string::npos);
  EXPECT_EQ(quiesce("test.faulty").code, TN_OK);
}
#endif

TEST(Discovery, SubdirectoriesBelongToAPlace) {
  const Directory here;
  fs::create_directory(here.path() / "vendor");
  fs::copy_file(built("older_table"), here.path() / "vendor/older_table.so");
  here.write("vendor/older_table.tenon.json", card("test.older_table", "older_table.so"));
  discover(here.path());
  EXPECT_EQ(reason_of((here.path() / "vendor/older_table.tenon.json").string()), "loaded");
  EXPECT_EQ(quiesce("test.older_table").code, TN_OK);
}

TEST(Discovery, LibrariesWithoutACardAreNotOpened) {
  const Directory here;
  const fs::path plugin = here.copy("older_table", "cardless.so");
  const fs::path other = here.copy("no_symbol", "other.so");
  discover(here.path());
  EXPECT_NE(reason_of(plugin.string()).find("has no identity card"), std::string::npos);
  EXPECT_EQ(reason_of(other.string()), "never seen");  // not a plugin, so it is ignored
}

TEST(Discovery, PluginsLoadedByPathStay) {
  const Directory here;
  const fs::path library = here.copy("older_table", "older_table.so");
  ASSERT_EQ(load(library).code, TN_OK);
  discover(here.path());
  EXPECT_EQ(reason_of(library.string()), "loaded");
  EXPECT_TRUE(has_device("test.older_table"));
  EXPECT_EQ(quiesce("test.older_table").code, TN_OK);
  // Under another name, too.
  const Directory linked;
  fs::create_symlink(library, linked.path() / "link.so");
  discover(linked.path());
  EXPECT_EQ(reason_of("link.so"), "never seen");
}

TEST(Discovery, APlaceIsScannedOnce) {
  const Directory here;
  discover(here.path());
  install(here, "older_table", "test.older_table");
  discover(here.path());
  EXPECT_EQ(reason_of((here.path() / "older_table.tenon.json").string()), "never seen");
}

TEST(Discovery, KernelsForAnotherPluginsDeviceWaitForIt) {
  quiesce("test.good");
  const Directory here;
  install(here, "adds", "test.adds");  // comes first, but needs the device of the next one
  install(here, "good", "test.good");
  discover(here.path());
  EXPECT_EQ(reason_of((here.path() / "adds.tenon.json").string()), "loaded");
  EXPECT_EQ(reason_of((here.path() / "good.tenon.json").string()), "loaded");
  EXPECT_EQ(quiesce("test.adds").code, TN_OK);
  EXPECT_EQ(quiesce("test.good").code, TN_OK);
}

}  // namespace
}  // namespace tenon::test
