// The conformance suite on the host device: for each op, one test of values and one of gradients.
#include <gtest/gtest.h>

#include "runner.hpp"

namespace tenon::conformance {
namespace {

std::vector<std::string> ops() {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < tn_op_count(); ++i)
    names.emplace_back(detail::to_view(tn_op_name(tn_op_at(i))));
  return names;
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  void expect_clean(const Report& report) {
    for (size_t i = 0; i < std::min<size_t>(report.failures.size(), 8); ++i)
      ADD_FAILURE() << report.failures[i];
    if (report.failures.size() > 8)
      ADD_FAILURE() << "and " << report.failures.size() - 8 << " more of " << report.cases
                    << " cases";
  }
  Options options{Device("cpu"), 1};
};

TEST_P(Conformance, Values) {
  Report report = check_values(GetParam(), options);
  expect_clean(report);
  EXPECT_GT(report.cases, 0u) << GetParam()
                              << " has no samples: add them in sdk/conformance/samples";
}

TEST_P(Conformance, Gradients) { expect_clean(check_gradients(GetParam(), options)); }

INSTANTIATE_TEST_SUITE_P(Ops, Conformance, testing::ValuesIn(ops()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tenon::conformance
