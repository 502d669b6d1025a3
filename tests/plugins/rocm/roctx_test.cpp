// Ranges reach ROCTX if it is loaded or asked for; otherwise no library is opened. Each case has a process of its own, because the library
// is searched for once; the stand-in has the first name that is tried.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "range.hpp"

namespace tenon::gpu {
namespace {

constexpr const char* kLibrary = "librocprofiler-sdk-roctx.so.1";

void ranges() {
  const Range outer("matmul");
  { const Range inner("add"); }
  const Range next("exp");
}

std::string told() {
  void* const library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "not loaded";
  const auto text = reinterpret_cast<const char* (*)()>(dlsym(library, "fake_roctx_told"));
  return text != nullptr ? text() : "not the stand-in";
}

TEST(Roctx, IsNotOpenedUnasked) {
  ranges();
  EXPECT_EQ(told(), "not loaded");
  // The library is there, so it could have been opened.
  ASSERT_NE(dlopen(kLibrary, RTLD_LAZY), nullptr) << dlerror();
  ranges();
  EXPECT_EQ(told(), "");
}

TEST(Roctx, IsOpenedOnRequest) {
  ranges();
  EXPECT_EQ(told(), "(matmul(add)(exp))");
}

TEST(Roctx, IsUsedIfAProfilerHasOpenedIt) {
  ASSERT_NE(dlopen(kLibrary, RTLD_LAZY), nullptr) << dlerror();
  ranges();
  EXPECT_EQ(told(), "(matmul(add)(exp))");
}

}  // namespace
}  // namespace tenon::gpu
