// The file of the pipeline cache: it returns what was written, and nothing else.
#include "cache_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace tenon {
namespace {

namespace fs = std::filesystem;

class CacheFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tenon_cache_XXXXXX").string();
    home_ = mkdtemp(name.data());
    folder_ = home_ / "tenon/vulkan";
    file().write("compiled");
  }
  void TearDown() override { fs::remove_all(home_); }
  CacheFile file(const std::string& name = "a.pipelines") const { return {folder_.string(), name}; }
  fs::path path() const { return folder_ / "a.pipelines"; }

  fs::path home_, folder_;
};

TEST_F(CacheFileTest, WhatIsWrittenComesBack) {
  EXPECT_EQ(file().read(), "compiled");
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  file().write(std::string(100'000, 'x'));
  EXPECT_EQ(file().read(), std::string(100'000, 'x'));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  CacheFile("", "a").write("nowhere");
  EXPECT_EQ(CacheFile("", "a").read(), "");
}

TEST_F(CacheFileTest, AnotherDevicesFileIsNotThisOnes) {
  fs::rename(path(), folder_ / "b.pipelines");
  EXPECT_EQ(file("b.pipelines").read(), "");
}

TEST_F(CacheFileTest, DamageIsNoticed) {
  std::ifstream stream(path(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(stream), {}};
  for (size_t i = 0; i <= whole.size(); ++i) {
    std::string damaged = whole;
    if (i < whole.size())
      damaged[i] = static_cast<char>(damaged[i] ^ 1);
    else
      damaged.pop_back();
    std::ofstream(path(), std::ios::binary) << damaged;
    EXPECT_EQ(file().read(), "") << i;
  }
}

TEST_F(CacheFileTest, FilesOthersMayWriteAreNotRead) {
  for (const fs::path& each : {path(), folder_})
    for (const fs::perms who : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(each, who, fs::perm_options::add);
      EXPECT_EQ(file().read(), "") << each;
      fs::permissions(each, who, fs::perm_options::remove);
      EXPECT_EQ(file().read(), "compiled") << each;
    }
}

TEST_F(CacheFileTest, NothingIsWrittenIntoFoldersOthersMayWrite) {
  fs::permissions(folder_, fs::perms::group_write, fs::perm_options::add);
  file("b.pipelines").write("more");
  EXPECT_FALSE(fs::exists(folder_ / "b.pipelines"));
}

TEST_F(CacheFileTest, FilesOfOthersAreNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  for (const fs::path& each : {path(), folder_}) {
    ASSERT_EQ(chown(each.c_str(), 12345, 12345), 0);
    EXPECT_EQ(file().read(), "") << each;
    ASSERT_EQ(chown(each.c_str(), 0, 0), 0);
  }
  EXPECT_EQ(file().read(), "compiled");
}

TEST_F(CacheFileTest, LinksAreNotFollowed) {
  const fs::path kept = home_ / "kept";
  fs::rename(path(), kept);
  fs::create_symlink(kept, path());
  EXPECT_EQ(file().read(), "");
  file().write("new");  // replaces the link, not its target
  EXPECT_EQ(file().read(), "new");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path())));
  fs::rename(folder_, home_ / "moved");
  fs::create_directory_symlink(home_ / "moved", folder_);
  EXPECT_EQ(file().read(), "");
}

TEST_F(CacheFileTest, AFileOfTheDraftsNameIsNotWrittenThrough) {
  const fs::path victim = home_ / "victim";
  std::ofstream(victim) << "precious";
  fs::create_symlink(victim, path().string() + "." + std::to_string(getpid()));
  file().write("new");
  EXPECT_EQ(fs::file_size(victim), 8u);
  EXPECT_EQ(file().read(), "new");
}

TEST_F(CacheFileTest, APipeIsNotWaitedFor) {
  fs::remove(path());
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(file().read(), "");
}

}  // namespace
}  // namespace tenon
