// Branches and loops that depend on elements, from C++: the same results in eager mode and as programs.
#include <gtest/gtest.h>

#include "tenon/creation.hpp"
#include "tenon/graph.hpp"

namespace {

using namespace tenon;
using In = std::span<const Tensor>;

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_TRUE(std::ranges::equal(a.shape(), b.shape()));
  EXPECT_TRUE((a == b).all().item<bool>());
}

TEST(Control, ProgramsChooseAndRepeat) {
  const Tensor weight = full({3}, 2.0);
  const auto fn = [&](In in) {
    const Tensor doubled =
        graph::loop([](In state) { return state[0].sum() < 50; },
                    [&](In state) { return std::vector{state[0] * weight}; }, {in[0]})[0];
    const std::vector<Tensor> chosen = graph::cond(
        in[0].sum() > 1, [&] { return std::vector{doubled - in[0]}; },
        [&] { return std::vector{doubled + weight}; });
    const std::vector<Tensor> scanned = graph::scan(
        [](In at) {
          return std::vector{at[0] + at[1], at[0] * at[1]};
        },
        {chosen[0].sum()}, {doubled});
    return std::vector{chosen[0], scanned[0], scanned[1]};
  };
  const graph::Program program = graph::trace({ones({3})}, fn);
  for (const double start : {0.01, 0.5, 40.0}) {
    const Tensor x = full({3}, start);
    const std::vector<Tensor> wanted = fn(In(&x, 1)), found = program({x});
    ASSERT_EQ(found.size(), 3u);
    for (size_t k = 0; k < 3; ++k) expect_equal(found[k], wanted[k]);
  }
  EXPECT_NE(program.text().find("while("), std::string::npos) << program.text();
}

TEST(Control, MismatchedBodiesAreRefused) {
  const auto fn = [](In in) {
    return graph::cond(
        in[0].sum() > 1, [&] { return std::vector{in[0]}; },
        [&] { return std::vector{in[0].sum()}; });
  };
  EXPECT_THROW(graph::trace({ones({3})}, fn), Error);
  tn_tensor* none = nullptr;
  tn_status* status = tn_trace_control(TN_CONTROL_COND, nullptr, 0, 0, &none, 1);
  ASSERT_NE(status, nullptr);  // outside a trace
  tn_status_release(status);
}

}  // namespace
