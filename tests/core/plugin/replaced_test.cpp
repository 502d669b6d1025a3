// A library is replaced while it is being loaded: at each step, the file that runs must be one that was tried.
#include <dlfcn.h>

#include <algorithm>
#include <functional>

#include "plugins.hpp"

namespace tenon::test {
namespace {

// Called just before and just after the dynamic linker opens a path that ends in "x.so".
std::function<void()> g_before_open, g_after_open;

class Replaced : public testing::Test {
 protected:
  void SetUp() override {
    home_ = getenv("XDG_CACHE_HOME");
    setenv("XDG_CACHE_HOME", here_.path().c_str(), 1);
    library_ = make("x.so", "none", "1.2.3");
  }
  void TearDown() override {
    setenv("XDG_CACHE_HOME", home_.c_str(), 1);
    g_before_open = g_after_open = nullptr;
    unsetenv("TENON_PROBE");
    quiesce("test.faulty");
  }

  fs::path make(std::string_view name, std::string_view kind, std::string_view version) {
    const fs::path path = faulty(here_, name, kind);
    std::string bytes = content_of(path);
    bytes.replace(bytes.find("1.2.3"), version.size(), version);
    return here_.write(name, bytes);
  }
  // Takes the place of tenon-probe: acts and then becomes it, or the other way round. $1 is the library.
  void probe_with(const std::string& before, const std::string& after) {
    const fs::path real = fs::path(TEST_PLUGINS) / "../../../tools/probe/tenon-probe";
    const fs::path script = here_.write(
        "probe.sh", "#!/bin/sh\n" + before + "\n" + real.string() + " \"$@\"\n" + after + "\n");
    fs::permissions(script, fs::perms::owner_all);
    setenv("TENON_PROBE", script.c_str(), 1);
  }
  // Renames "next.so" over the library, once.
  std::string swap() const {
    return "mv " + (here_.path() / "next.so").string() + " \"$1\" 2>/dev/null";
  }
  std::string version() const { return text(info_of(library_.string())->version); }
  ptrdiff_t opened_here(const std::vector<pid_t>& processes) const {
    return std::count(processes.begin(), processes.end(), getpid());
  }

  std::string home_;
  Directory here_;
  Marker marker_;
  fs::path library_;
};

TEST_F(Replaced, AfterItsTrialByOneThatCrashes) {
  make("next.so", "start.segv", "2.0.0");
  probe_with("", swap());
  const Outcome outcome = load(library_);
  EXPECT_NE(outcome.message.find("crashed in its start: SIGSEGV"), std::string::npos) << outcome;
  EXPECT_EQ(opened_here(marker_.take()), 0);
}

TEST_F(Replaced, AfterItsTrialByOneThatIsGood) {
  make("next.so", "none", "2.0.0");
  probe_with("", swap());
  const Outcome outcome = load(library_);
  EXPECT_EQ(outcome.code, TN_OK) << outcome;
  EXPECT_EQ(version(), "2.0.0");
  const std::vector<pid_t> processes = marker_.take();
  EXPECT_EQ(opened_here(processes), 1);
  EXPECT_EQ(processes.size(), 3u);  // each was tried
}

TEST_F(Replaced, BeforeTheTrialOpensIt) {
  make("next.so", "start.segv", "2.0.0");
  probe_with(swap(), "");
  const Outcome outcome = load(library_);
  EXPECT_NE(outcome.message.find("crashed in its start: SIGSEGV"), std::string::npos) << outcome;
  EXPECT_EQ(opened_here(marker_.take()), 0);
}

// Between the last check and the dynamic linker's own opening, only static constructors can run.
TEST_F(Replaced, AtTheMomentOfOpening) {
  const fs::path next = make("next.so", "start.segv", "2.0.0");
  g_before_open = [&] {
    if (fs::exists(next)) fs::rename(next, library_);
  };
  const Outcome outcome = load(library_);
  EXPECT_NE(outcome.message.find("crashed in its start: SIGSEGV"), std::string::npos) << outcome;
  EXPECT_EQ(opened_here(marker_.take()), 1);
}

TEST_F(Replaced, AtTheMomentOfOpeningAndBackAgain) {
  const fs::path there = here_.path() / "there", aside = here_.path() / "aside";
  fs::create_directory(there);
  fs::rename(library_, there / "x.so");
  library_ = there / "x.so";
  fs::create_directory(aside);
  fs::rename(make("next.so", "start.segv", "2.0.0"), aside / "x.so");
  const auto turn = [&, middle = here_.path() / "middle"] {
    fs::rename(there, middle);
    fs::rename(aside, there);
    fs::rename(middle, aside);
  };
  g_before_open = g_after_open = turn;  // the file itself keeps its times
  const Outcome replaced = load(library_);
  EXPECT_EQ(replaced.code, TN_DATA_LOSS) << replaced;
  EXPECT_NE(replaced.message.find("was replaced"), std::string::npos) << replaced;
  g_before_open = g_after_open = nullptr;
  EXPECT_EQ(load(library_).code, TN_OK);
  EXPECT_EQ(version(), "1.2.3");
}

TEST_F(Replaced, AgainAndAgain) {
  int times = 0;
  g_before_open = [&] {
    const std::string version = "2.0." + std::to_string(++times % 10);
    fs::rename(make("next.so", "none", version), library_);
  };
  const Outcome outcome = load(library_);
  EXPECT_EQ(outcome.code, TN_DATA_LOSS) << outcome;
  EXPECT_NE(outcome.message.find("was replaced while it was being loaded"), std::string::npos)
      << outcome;
  EXPECT_EQ(times, 5);
  EXPECT_FALSE(has_device("test.faulty"));
}

TEST_F(Replaced, AfterItWasTakenOutOfService) {
  for (const char* wanted : {"1.2.3", "2.0.0", "3.0.0"}) {
    fs::rename(make("next.so", "none", wanted), library_);
    const Outcome outcome = load(library_);
    EXPECT_EQ(outcome.code, TN_OK) << outcome;
    EXPECT_EQ(version(), wanted);  // not an old one that is still mapped
    EXPECT_EQ(quiesce("test.faulty").code, TN_OK);
  }
}

TEST_F(Replaced, OverwrittenWhileItIsMapped) {
  EXPECT_EQ(load(library_).code, TN_OK);
  EXPECT_EQ(quiesce("test.faulty").code, TN_OK);
  fs::permissions(library_, fs::perms::owner_all);  // by itself, that changes nothing
  EXPECT_EQ(load(library_).code, TN_OK);
  EXPECT_EQ(quiesce("test.faulty").code, TN_OK);
  const std::string bytes = content_of(library_);
  std::fstream(library_, std::ios::binary | std::ios::in | std::ios::out) << bytes.substr(0, 1);
  const Outcome outcome = load(library_);
  EXPECT_EQ(outcome.code, TN_DATA_LOSS);
  EXPECT_NE(outcome.message.find("start the process again"), std::string::npos) << outcome;
}

}  // namespace
}  // namespace tenon::test

// libtenon's calls arrive here, because the program's definitions come first.
extern "C" TN_EXPORT void* dlopen(const char* path, int mode) {
  using namespace tenon::test;
  static const auto real =
      reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  const bool ours = path != nullptr && std::string_view(path).ends_with("x.so");
  if (ours && g_before_open) g_before_open();
  void* const handle = real(path, mode);
  if (ours && g_after_open) g_after_open();
  return handle;
}
