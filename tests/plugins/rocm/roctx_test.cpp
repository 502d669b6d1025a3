// Ranges reach ROCTX where it is loaded or asked for, and nothing is opened elsewhere. Each case has a process of its own, as the
// library is looked for once; the stand-in has the first name that is tried.
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
  // It is there: it could have been opened.
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
