// The trial of an unknown library in a child process, and the cache of its outcome.
#include <algorithm>
#include <array>
#include <csignal>
#include <functional>

#include "plugins.hpp"

namespace tenon::test {
namespace {

// The verdicts of all tests of this program are stored here, not in the user's cache.
class CacheHome : public testing::Environment {
 public:
  void SetUp() override { setenv("XDG_CACHE_HOME", directory_.path().c_str(), 1); }

 private:
  Directory directory_;
};
const testing::Environment* const g_home = testing::AddGlobalTestEnvironment(new CacheHome);

// A cache of its own for the test.
class Probe : public testing::Test {
 protected:
  void SetUp() override {
    before_ = getenv("XDG_CACHE_HOME");
    setenv("XDG_CACHE_HOME", home_.path().c_str(), 1);
  }
  void TearDown() override {
    setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    unsetenv("TENON_PROBE");
  }
  fs::path cache() const { return home_.path() / "tenon/probe"; }
  std::vector<fs::path> cached() const {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(cache(), none)) files.push_back(entry.path());
    return files;
  }
  // How many other processes opened the plugin while it was loaded from a new path. There the cached verdict on its content counts, but
  // none that this process remembers.
  size_t children(std::string_view kind) {
    const Directory here;
    last_ = load(faulty(here, "x.so", kind));
    quiesce("test.faulty");
    std::vector<pid_t> processes = marker_.take();
    std::erase(processes, getpid());
    return processes.size();
  }
  void change_cached(const std::function<void(std::string&)>& change) {
    for (const fs::path& path : cached()) {
      std::string text = content_of(path);
      change(text);
      std::ofstream(path, std::ios::binary) << text;
    }
  }

  Directory home_;
  std::string before_;
  Marker marker_;
  Outcome last_;
};

TEST_F(Probe, OncePerContent) {
  EXPECT_EQ(children("none"), 1u);
  EXPECT_EQ(last_.code, TN_OK) << last_;
  EXPECT_EQ(children("none"), 0u);
  EXPECT_EQ(last_.code, TN_OK);
  EXPECT_EQ(children("other"), 1u);
  ASSERT_FALSE(cached().empty());
  EXPECT_EQ(fs::status(cache()).permissions(), fs::perms::owner_all);
}

TEST_F(Probe, ALibraryThatIsChangedInItsPlaceIsTriedAgain) {
  const Directory here;
  EXPECT_EQ(load(faulty(here, "x.so", "none")).code, TN_OK);
  EXPECT_EQ(quiesce("test.faulty").code, TN_OK);
  marker_.take();
  const Outcome outcome = load(faulty(here, "x.so", "start.abort"));
  EXPECT_NE(outcome.message.find("SIGABRT"), std::string::npos) << outcome;
  EXPECT_EQ(marker_.take().size(), 1u);
}

TEST_F(Probe, ASettledFileHasAnIndexEntry) {
  // Once a file is a little older, its times distinguish it from every other.
  const Directory here;
  const fs::path library = faulty(here, "x.so", "settled");
  struct stat about {};
  ASSERT_EQ(stat(library.c_str(), &about), 0);
  while (time(nullptr) - about.st_ctime < 2) usleep(50'000);
  ASSERT_EQ(load(library).code, TN_OK);
  EXPECT_EQ(quiesce("test.faulty").code, TN_OK);
  const std::vector<fs::path> files = cached();
  EXPECT_EQ(files.size(), 2u);  // one by hash, one by file
  for (const fs::path& path : files)
    EXPECT_TRUE(content_of(path).starts_with(path.filename().string() + "\n")) << path;
}

TEST_F(Probe, ACrashIsRememberedUntilAskedAgain) {
  EXPECT_EQ(children("start.segv"), 1u);
  EXPECT_NE(last_.message.find("TENON_PROBE=again"), std::string::npos) << last_;
  EXPECT_EQ(children("start.segv"), 0u);
  EXPECT_NE(last_.message.find("crashed in its start: SIGSEGV"), std::string::npos) << last_;
  setenv("TENON_PROBE", "again", 1);
  EXPECT_EQ(children("start.segv"), 1u);
}

TEST_F(Probe, ACrashIsForgottenAfterItsTime) {
  EXPECT_EQ(children("start.segv"), 1u);
  change_cached([](std::string& text) {  // the third line is the time
    const size_t at = text.find('\n', text.find('\n') + 1) + 1;
    text.replace(at, text.find('\n', at) - at, "1");
  });
  EXPECT_EQ(children("start.segv"), 1u);
}

TEST_F(Probe, AnErrorIsNotRemembered) {
  EXPECT_EQ(children("start.error"), 1u);
  EXPECT_EQ(last_.code, TN_OUT_OF_MEMORY) << last_;
  EXPECT_TRUE(cached().empty());
  EXPECT_EQ(children("start.error"), 1u);  // by now the device may have memory
}

TEST_F(Probe, ACorruptCacheIsNoCache) {
  const auto spoil = std::to_array<std::function<void(std::string&)>>({
      [](std::string& text) { text.clear(); },
      [](std::string& text) { text.resize(text.size() / 2); },
      [](std::string& text) { text.resize(text.size() - 1); },
      [](std::string& text) { text[0] = text[0] == 'x' ? 'y' : 'x'; },
      [](std::string& text) { text = std::string(5000, '\n'); },
      [](std::string& text) { text = std::string(100'000, 'x'); },
      [](std::string& text) { text = std::string("\0\xff\n", 3) + text; },
  });
  children("none");
  for (const auto& change : spoil) {
    change_cached(change);
    EXPECT_EQ(children("none"), 1u);
    EXPECT_EQ(last_.code, TN_OK) << last_;
    EXPECT_EQ(children("none"), 0u);
  }
}

TEST_F(Probe, ADirectoryOthersMayWriteToIsNotTrusted) {
  EXPECT_EQ(children("none"), 1u);
  fs::permissions(cache(), fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(children("none"), 1u);
  EXPECT_EQ(children("none"), 1u);
  fs::permissions(cache(), fs::perms::group_write, fs::perm_options::remove);
  EXPECT_EQ(children("none"), 0u);
  for (const fs::path& path : cached())
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(children("none"), 1u);
}

TEST_F(Probe, ADirectoryOfSomebodyElseIsNotTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  EXPECT_EQ(children("none"), 1u);
  ASSERT_EQ(chown(cache().c_str(), 65534, 65534), 0);
  EXPECT_EQ(children("none"), 1u);
  EXPECT_EQ(children("none"), 1u);
  // Nor does root leave directories behind that the owner of the home directory could not use.
  const Directory users;
  ASSERT_EQ(chown(users.path().c_str(), 65534, 65534), 0);
  setenv("XDG_CACHE_HOME", users.path().c_str(), 1);
  EXPECT_EQ(children("none"), 1u);
  EXPECT_TRUE(fs::is_empty(users.path()));
}

TEST_F(Probe, ALinkInPlaceOfTheDirectoryIsNotFollowed) {
  EXPECT_EQ(children("none"), 1u);
  fs::rename(cache(), home_.path() / "moved");
  fs::create_directory_symlink(home_.path() / "moved", cache());
  EXPECT_EQ(children("none"), 1u);
}

TEST_F(Probe, WithoutACacheEveryProcessTriesAnew) {
  for (const char* home : {"/proc/no/such/place", "relative/path"}) {
    setenv("XDG_CACHE_HOME", home, 1);
    const std::string old = getenv("HOME") == nullptr ? "" : getenv("HOME");
    unsetenv("HOME");
    EXPECT_EQ(children("none"), 1u);
    EXPECT_EQ(last_.code, TN_OK) << last_;
    setenv("HOME", old.c_str(), 1);
  }
  // Within one process, an unchanged file is tried once.
  setenv("XDG_CACHE_HOME", "/proc/no/such/place", 1);
  const Directory here;
  const fs::path library = faulty(here, "x.so", "other");
  marker_.take();
  for (int cycle = 0; cycle < 3; ++cycle) {
    EXPECT_EQ(load(library).code, TN_OK);
    EXPECT_EQ(quiesce("test.faulty").code, TN_OK);
  }
  std::vector<pid_t> processes = marker_.take();
  std::erase(processes, getpid());
  EXPECT_EQ(processes.size(), 1u);
}

TEST_F(Probe, CanBeSwitchedOff) {
  setenv("TENON_PROBE", "off", 1);
  EXPECT_EQ(children("none"), 0u);
  EXPECT_EQ(last_.code, TN_OK) << last_;
  EXPECT_TRUE(cached().empty());
  // Faults that can be found without a child process are still reported.
  EXPECT_EQ(children("start.error"), 0u);
  EXPECT_EQ(last_.code, TN_OUT_OF_MEMORY) << last_;
}

TEST_F(Probe, AMissingProgramIsSaidSo) {
  setenv("TENON_PROBE", "/no/such/tenon-probe", 1);
  EXPECT_EQ(children("none"), 0u);
  EXPECT_EQ(last_.code, TN_FAILED_PRECONDITION);
  EXPECT_NE(last_.message.find("/no/such/tenon-probe: No such file"), std::string::npos) << last_;
  EXPECT_NE(last_.message.find("TENON_PROBE=off"), std::string::npos) << last_;
  setenv("TENON_PROBE", "/bin/true", 1);
  EXPECT_EQ(children("none"), 0u);
  EXPECT_NE(last_.message.find("/bin/true gave no answer"), std::string::npos) << last_;
}

// Replaces tenon-probe by another program.
void probe_by(const Directory& here, const std::string& commands) {
  const fs::path script = here.write("probe.sh", "#!/bin/sh\n" + commands + "\n");
  fs::permissions(script, fs::perms::owner_all);
  setenv("TENON_PROBE", script.c_str(), 1);
}

TEST_F(Probe, AStoppedProgramIsKilled) {
  const Directory here;
  probe_by(here, "kill -STOP $$");
  setenv("TENON_PROBE_TIMEOUT", "1", 1);
  EXPECT_EQ(children("none"), 0u);
  unsetenv("TENON_PROBE_TIMEOUT");
  EXPECT_EQ(last_.code, TN_INTERNAL);
  EXPECT_NE(last_.message.find("gave no answer within 5 s"), std::string::npos) << last_;
}

TEST_F(Probe, AProgramThatWritesForeverIsKilled) {
  const Directory here;
  probe_by(here, "exec yes");
  EXPECT_EQ(children("none"), 0u);
  EXPECT_EQ(last_.code, TN_INTERNAL);
  probe_by(here, "exec 1>&-; kill -STOP $$");  // it closes its output and then does nothing
  EXPECT_EQ(children("none"), 0u);
  EXPECT_EQ(last_.code, TN_INTERNAL);
}

TEST_F(Probe, MemoryHasALimit) {
  EXPECT_EQ(children("start.hoard"), 1u);
  EXPECT_NE(last_.message.find("an exception left its start: std::bad_alloc"), std::string::npos)
      << last_;
}

TEST_F(Probe, TheHostMayIgnoreItsChildren) {
  const auto old = signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(children("none"), 1u);
  EXPECT_EQ(last_.code, TN_OK) << last_;
  EXPECT_EQ(children("start.abort"), 1u);
  EXPECT_NE(last_.message.find("SIGABRT"), std::string::npos) << last_;
  signal(SIGCHLD, old);
}

}  // namespace
}  // namespace tenon::test
