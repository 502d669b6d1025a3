// Whose files a scan opens: the user's, root's, and those of whoever may replace libtenon itself. Nobody else may be able to write to them.
#include "plugins.hpp"

namespace tenon::test {
namespace {

constexpr uid_t kSomebody = 12345;

class Trust : public testing::Test {
 protected:
  void SetUp() override {
    quiesce("test.older_table");
    fs::create_directory(place_);
    fs::copy_file(built("older_table"), library_);
    std::ofstream(card_) << card("test.older_table", "older_table.so");
  }
  void TearDown() override { quiesce("test.older_table"); }

  // Scanning fails for that reason, and the reason names what is at fault.
  void expect_refused(const fs::path& scanned, const fs::path& shown, std::string_view reason,
                      const fs::path& fault) {
    discover(scanned);
    const std::string said = reason_of(shown.string());
    EXPECT_NE(said.find(reason), std::string::npos) << said;
    EXPECT_TRUE(said.starts_with(fault.string() + " ")) << said;
    EXPECT_FALSE(has_device("test.older_table"));
  }
  void open_up(const fs::path& path, fs::perms who) {
    fs::permissions(path, who, fs::perm_options::add);
  }
  static bool is_root() { return geteuid() == 0; }

  Directory here_;
  const fs::path place_ = here_.path() / "place";
  const fs::path library_ = place_ / "older_table.so";
  const fs::path card_ = place_ / "older_table.tenon.json";
};

// Whoever may replace libtenon is trusted in other places, too.
class TrustNoGroup : public Trust {
 protected:
  void SetUp() override {
    struct stat own {
    }, here{};
    ASSERT_EQ(stat((fs::path(TEST_PLUGINS) / "../../../core").c_str(), &own), 0);
    ASSERT_EQ(stat(here_.path().c_str(), &here), 0);
    if ((own.st_mode & S_IWGRP) != 0 && own.st_gid == here.st_gid)
      GTEST_SKIP() << "the group may replace libtenon itself";
    Trust::SetUp();
  }
};

constexpr auto kGroup = fs::perms::group_write, kOthers = fs::perms::others_write;

TEST_F(Trust, FilesOfTheUserAreOpened) {
  discover(place_);
  EXPECT_EQ(reason_of(card_.string()), "loaded");
}

TEST_F(TrustNoGroup, RefusesADirectoryOthersMayWrite) {
  open_up(place_, kGroup);
  expect_refused(place_, place_, "is writable by its group", place_);
  EXPECT_EQ(reason_of(card_.string()), "never seen");
}

TEST_F(TrustNoGroup, RefusesAFileOthersMayWrite) {
  open_up(card_, kGroup);
  expect_refused(place_, card_, "is writable by its group", card_);
}

TEST_F(Trust, RefusesALibraryOthersMayWrite) {
  open_up(library_, kOthers);
  expect_refused(place_, card_, "is world-writable", library_);
}

TEST_F(Trust, RefusesADirectoryBelowOneOthersMayWrite) {
  open_up(here_.path(), kOthers);
  expect_refused(place_, place_, "is world-writable", here_.path());
}

TEST_F(Trust, AStickyDirectoryAboveIsInOrder) {
  fs::permissions(here_.path(), fs::perms(01777));
  discover(place_);
  EXPECT_EQ(reason_of(card_.string()), "loaded");
}

TEST_F(Trust, AStickyDirectoryItselfIsNot) {
  fs::permissions(place_, fs::perms(01777));
  expect_refused(place_, place_, "is world-writable", place_);
}

TEST_F(TrustNoGroup, RefusesALinkIntoADirectoryOthersMayWrite) {
  const Directory open;
  fs::rename(library_, open.path() / "x.so");
  fs::create_symlink(open.path() / "x.so", library_);
  open_up(open.path(), kGroup);
  expect_refused(place_, card_, "is writable by its group", open.path());
}

TEST_F(TrustNoGroup, RefusesAPlaceBehindALinkIntoSuchADirectory) {
  const Directory linked;
  fs::create_directory_symlink(place_, linked.path() / "sub");
  open_up(here_.path(), kGroup);
  expect_refused(linked.path(), place_, "is writable by its group", here_.path());
}

TEST_F(Trust, NothingOfSomebodyElse) {
  if (!is_root()) GTEST_SKIP() << "only root can give files away";
  const auto give = [](const fs::path& path, uid_t to) {
    ASSERT_EQ(chown(path.c_str(), to, static_cast<gid_t>(-1)), 0);
  };
  give(library_, kSomebody);
  expect_refused(place_, card_, "belongs to another user (uid 12345", library_);
  const Directory other;
  give(other.path(), kSomebody);
  expect_refused(other.path(), other.path(), "belongs to another user (uid 12345", other.path());
  // An ordinary user trusts root, but no third user.
  const Directory roots, users;
  for (const Directory* each : {&roots, &users, &other})
    fs::permissions(each->path(), fs::perms(0755));
  give(users.path(), 65534);
  ASSERT_EQ(seteuid(65534), 0);
  for (const Directory* each : {&roots, &users, &other}) discover(each->path());
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(reason_of(roots.path().string()),
            "never seen");  // a place is listed only when it is refused
  EXPECT_EQ(reason_of(users.path().string()), "never seen");
  EXPECT_NE(reason_of(other.path().string()).find("belongs to another user"), std::string::npos);
}

TEST_F(Trust, PathsFromTheProgramAreNotChecked) {
  open_up(place_, kGroup);
  EXPECT_EQ(load(library_).code, TN_OK);
}

}  // namespace
}  // namespace tenon::test
