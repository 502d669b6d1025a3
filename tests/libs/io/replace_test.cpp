// What saving replaces, and what it leaves behind if it is interrupted.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../scratch.hpp"
#include "tenon/io.hpp"

namespace tenon {
namespace {

using io::load_safetensors;
using io::save_safetensors;
using io::detail::ReplacedFile;

int saved(const std::string& path) { return load_safetensors(path).tensors.at("x").item<int>(); }
void save(const std::string& path, int value) { save_safetensors(path, {{"x", tensor({value})}}); }
bool has_unnamed_files(const Scratch& scratch) {
  return io::detail::Descriptor(::open(scratch.path("").c_str(), O_TMPFILE | O_WRONLY, 0600))
             .get() >= 0;
}
mode_t mode_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST(Replace, OnlyRegularFilesAreReplaced) {
  const Scratch scratch;
  const std::string fifo = scratch.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/dev/null", scratch.path("null").c_str()), 0);
  struct Case {
    std::string path, reason;
  };
  const Case all[] = {
      {fifo, "it is a FIFO"},
      {scratch.path(""), "it is a directory"},
      {scratch.path("null"), "it is a character device"},
  };
  for (const Case& one : all) {
    const std::string message = one.path + ": " + one.reason;
    EXPECT_NE(error_of([&] { save(one.path, 1); }).find(message), std::string::npos);
    EXPECT_NE(error_of([&] { load_safetensors(one.path); }).find(message), std::string::npos);
  }
  EXPECT_EQ(scratch.file_count(), 2u);
}

TEST(Replace, LinksAreFollowedToTheFile) {
  const Scratch scratch;
  ASSERT_EQ(::mkdir(scratch.path("folder").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("folder/net", scratch.path("one").c_str()), 0);
  ASSERT_EQ(::symlink(scratch.path("one").c_str(), scratch.path("two").c_str()), 0);
  for (int value : {1, 2}) {  // the first creates the file
    save(scratch.path("two"), value);
    EXPECT_EQ(saved(scratch.path("folder/net")), value);
    EXPECT_TRUE(std::filesystem::is_symlink(scratch.path("two")));
    EXPECT_TRUE(std::filesystem::is_symlink(scratch.path("one")));
  }
  ASSERT_EQ(::symlink("loop", scratch.path("loop").c_str()), 0);
  EXPECT_NE(error_of([&] { save(scratch.path("loop"), 1); }), "");
  // A file without a name cannot be replaced by name.
  const io::detail::Descriptor open(::open(scratch.path("lost").c_str(), O_CREAT | O_RDWR, 0600));
  ::unlink(scratch.path("lost").c_str());
  EXPECT_NE(error_of([&] {
              save("/proc/self/fd/" + std::to_string(open.get()), 1);
            }).find("no name to replace"),
            std::string::npos);
}

TEST(Replace, ModesAreKeptOrTheMasks) {
  const Scratch scratch;
  const mode_t mask = ::umask(027);
  save(scratch.path("new"), 1);
  { ReplacedFile(scratch.path("named"), "test", false).commit(); }
  ::umask(mask);
  EXPECT_EQ(mode_of(scratch.path("new")), 0640u);
  EXPECT_EQ(mode_of(scratch.path("named")), 0640u);
  ::chmod(scratch.path("new").c_str(), 0600);
  save(scratch.path("new"), 2);
  EXPECT_EQ(mode_of(scratch.path("new")), 0600u);
  EXPECT_EQ(saved(scratch.path("new")), 2);
}

TEST(Replace, BothWaysOfWritingReplaceAtOnceOrNotAtAll) {
  const Scratch scratch;
  const std::string path = scratch.path("x"), longest = scratch.path(std::string(255, 'n'));
  for (const bool may_lack_a_name : {true, false})
    for (const std::string& name : {path, longest}) {
      scratch.write("x", "old");
      for (const char* content : {"first", "second"}) {
        ReplacedFile file(name, "test", may_lack_a_name);
        file.write(content, strlen(content));
        EXPECT_TRUE(name != path || *content == 's' || Scratch::read(path) == "old");
        file.commit();
        EXPECT_EQ(Scratch::read(name), content);
      }
      { ReplacedFile(name, "test", may_lack_a_name).write("third", 5); }
      EXPECT_EQ(Scratch::read(name), "second");
    }
  EXPECT_EQ(scratch.file_count(), 2u);
}

// A limit on file sizes interrupts the process in the middle of a write, by its signal or by EFBIG.
void save_within(const std::string& path, bool killed) {
  ::signal(SIGXFSZ, killed ? SIG_DFL : SIG_IGN);
  const rlimit limit{100'000, 100'000};
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string message = error_of([&] {
    save_safetensors(path, {{"x", empty({1'000'000}, DType::U8)}});
  });
  ::_exit(message.find("cannot be written: File too large") == std::string::npos ? 1 : 0);
}

TEST(Replace, AKillOrAFullDiskLeavesTheOldFileAndNothingElse) {
  const Scratch scratch;
  const std::string path = scratch.path("net");
  save(path, 7);
  EXPECT_EXIT(save_within(path, false), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(saved(path), 7);
  EXPECT_EQ(scratch.file_count(), 1u);
  if (!has_unnamed_files(scratch)) GTEST_SKIP() << "this file system has no files without names";
  EXPECT_EXIT(save_within(path, true), ::testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_EQ(saved(path), 7);
  EXPECT_EQ(scratch.file_count(), 1u);
}

}  // namespace
}  // namespace tenon
