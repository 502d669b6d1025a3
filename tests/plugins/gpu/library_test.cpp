// Where a vendor's library is searched for, and what is logged if it is not used.
#include "library.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime.hpp"

namespace tenon::gpu {

const char* const rt::kName = "test";
std::vector<LibraryFound> vendor_libraries() { return concluded_libraries(); }

namespace {

namespace fs = std::filesystem;

class LibrarySearch : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tenon_library_XXXXXX").string();
    root_ = mkdtemp(name.data());
    for (const char* const variable :
         {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH", "TENON_TEST_LIBRARY"})
      unsetenv(variable);
  }
  void TearDown() override { fs::remove_all(root_); }

  // The library under a name that only this test uses, because a process keeps what it has loaded.
  LibraryAbout about() const {
    return {"Found",
            {file()},
            "TENON_TEST_LIBRARY",
            "everything",
            "hand",
            "pip install found",
            {"vendor/*/lib"},
            {(root_ / "toolkit-*/lib").string()}};
  }
  static std::string stem() {
    return std::string("lib") + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  static std::string file() { return stem() + ".so.3"; }
  fs::path put(const std::string& folder, const std::string& name) const {
    fs::create_directories(root_ / folder);
    fs::copy_file(FOUND_LIBRARY, root_ / folder / name);
    return root_ / folder / name;
  }
  // The result of a search: the value that its function returns, or the reason.
  static std::string outcome(const LibraryAbout& about) {
    std::string reason;
    void* const library = open_library(about, reason);
    int (*answer)() = nullptr;
    if (library != nullptr && find(library, "found_answer", answer, reason))
      return std::to_string(answer());
    return reason;
  }

  fs::path root_;
};

TEST_F(LibrarySearch, ByVariable) {
  const fs::path path = put("anywhere", file());
  setenv("TENON_TEST_LIBRARY", path.c_str(), 1);
  EXPECT_EQ(outcome(about()), "42");
}
TEST_F(LibrarySearch, ByTheFolderOfAVariable) {
  setenv("TENON_TEST_LIBRARY", put("anywhere", file()).parent_path().c_str(), 1);
  EXPECT_EQ(outcome(about()), "42");
}
TEST_F(LibrarySearch, AWrongVariableEndsTheSearch) {
  put("toolkit-9/lib", file());
  fs::create_directories(root_ / "empty");
  setenv("TENON_TEST_LIBRARY", (root_ / "empty").c_str(), 1);
  EXPECT_NE(outcome(about()).find(file() + " is not in it"), std::string::npos);
  setenv("TENON_TEST_LIBRARY", (root_ / "none.so").c_str(), 1);
  EXPECT_NE(outcome(about()).find("TENON_TEST_LIBRARY names"), std::string::npos);
}
TEST_F(LibrarySearch, BesidePackagesOfAnEnvironment) {
  put("env/lib/python3.12/site-packages/vendor/cu13/lib", file());
  EXPECT_EQ(outcome(about()), file() + " is not found");
  setenv("VIRTUAL_ENV", (root_ / "env").c_str(), 1);
  EXPECT_EQ(outcome(about()), "42");
}
TEST_F(LibrarySearch, BesidePackagesOnPythonsPath) {
  put("packages/vendor/found/lib", file());
  setenv("PYTHONPATH", ("/none:" + (root_ / "packages").string()).c_str(), 1);
  EXPECT_EQ(outcome(about()), "42");
}
TEST_F(LibrarySearch, InAToolkit) {
  put("toolkit-13.0/lib", file());
  EXPECT_EQ(outcome(about()), "42");
}
TEST_F(LibrarySearch, OnTheLoadersPathFirst) {
  const fs::path first = put("first", file());
  put("toolkit-13.0/lib", file());
  setenv("LD_LIBRARY_PATH", (root_ / "first").c_str(), 1);
  std::string reason;
  conclude(about(), open_library(about(), reason), "1.2.3", reason);
  ASSERT_EQ(concluded_libraries().size(), 1U);
  EXPECT_EQ(concluded_libraries()[0].path, fs::canonical(first));
  EXPECT_EQ(concluded_libraries()[0].version, "1.2.3");
}
TEST_F(LibrarySearch, AnotherVersionIsTold) {
  const fs::path other = put("toolkit-12/lib", stem() + ".so.2");
  EXPECT_EQ(outcome(about()),
            file() + " is not found; there is " + other.string() + ", another version");
}
TEST_F(LibrarySearch, WhatCannotBeLoadedIsTold) {
  fs::create_directories(root_ / "toolkit-1/lib");
  std::ofstream(root_ / "toolkit-1/lib" / file()) << "no library";
  EXPECT_NE(outcome(about()).find("it cannot be loaded: "), std::string::npos);
  // A good library further on is used.
  put("toolkit-2/lib", file());
  EXPECT_EQ(outcome(about()), "42");
}
TEST_F(LibrarySearch, ZeroForbids) {
  put("toolkit-13.0/lib", file());
  setenv("TENON_TEST_LIBRARY", "0", 1);
  EXPECT_EQ(outcome(about()), "TENON_TEST_LIBRARY is 0");
}
TEST_F(LibrarySearch, WhatItWillOpenByNameIsOpenedBesideIt) {
  put("toolkit-13.0/lib", file());
  const fs::path part = put("toolkit-13.0/lib", stem() + "-part.so.3.1");
  std::string reason;
  void* const library = open_library(about(), reason);
  ASSERT_NE(library, nullptr) << reason;
  EXPECT_EQ(dlopen(part.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  open_beside(library, stem() + "-part.so.*");
  EXPECT_NE(dlopen(part.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}
TEST_F(LibrarySearch, Versions) {
  EXPECT_EQ(version_text(91300), "9.13.0");
  EXPECT_EQ(version_text(130002), "13.0.2");
}

}  // namespace
}  // namespace tenon::gpu
