// A host table for tests, which counts statuses that were not released.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tenon/plugin.hpp"

struct tn_status {
  uint32_t code;
  std::string message;
};

namespace tenon::sdk {
inline int g_live = 0;  // statuses made and not released

inline tn_host make_host() {
  tn_host host{};
  host.struct_size = sizeof host;
  host.make_status = [](uint32_t code, tn_str message) {
    ++g_live;
    return new tn_status{code, std::string(view_of(message))};
  };
  host.status_code = [](const tn_status* status) { return status == nullptr ? 0u : status->code; };
  host.status_message = [](const tn_status* status) { return str_of(status->message); };
  host.status_release = [](tn_status* status) {
    g_live -= status != nullptr;
    delete status;
  };
  return host;
}

struct Sugar : testing::Test {
  tn_host own = make_host();
  void SetUp() override { adopt_host(&own); }
  void TearDown() override { EXPECT_EQ(g_live, 0); }
  static void expect(Status status, uint32_t code, std::string_view message) {
    ASSERT_NE(status, nullptr);
    EXPECT_EQ(status->code, code);
    EXPECT_EQ(status->message, message);
    host()->status_release(status);
  }
};

}  // namespace tenon::sdk
