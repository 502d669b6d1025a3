// Programs for inputs of any size, from C++ and C.
#include <gtest/gtest.h>

#include "observed.hpp"
#include "tenon/creation.hpp"
#include "tenon/graph.hpp"
#include "tenon/nn.hpp"

namespace {

using namespace tenon;
using In = std::span<const Tensor>;
using tenon::test::bytes_of;

TEST(Sizes, ResultsEqualEagerCalls) {
  nn::Sequential net(nn::Linear(4, 8), nn::GELU(), nn::LayerNorm(8));
  const auto fn = [&](In in) {
    const int64_t rows = in[0].shape(0), columns = in[0].shape(1);
    const Tensor x = net(in[0]);
    return std::vector{x.mean(0) / static_cast<double>(rows), x.reshape({rows * columns, 8}),
                       x.narrow(1, columns / 3, columns - columns / 3)};
  };
  const graph::Program program =
      graph::trace({randn({2, 6, 4})}, {{{0, {"rows"}}, {1, {"columns", 3, 50}}}}, fn);
  EXPECT_EQ(program.info().dims, 2u);
  const NoGrad no_grad;
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 3}, {9, 50}, {77, 31}}) {
    const Tensor x = randn({rows, columns, 4});
    const std::vector<Tensor> wanted = fn(In(&x, 1)), found = program({x});
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_TRUE(std::ranges::equal(found[k].shape(), wanted[k].shape()));
      EXPECT_EQ(bytes_of(found[k]), bytes_of(wanted[k])) << k << " at " << rows;
    }
  }
  EXPECT_THROW(program({randn({2, 2, 4})}), Error);
  EXPECT_THROW(program({randn({2, 51, 4})}), Error);
}

TEST(Sizes, ABranchOnASizeIsRefused) {
  const auto fn = [](In in) {
    return std::vector{in[0].shape(0) > 100 ? in[0].exp() : in[0].sin()};
  };
  try {
    graph::trace({randn({4})}, {{{0, {"rows"}}}}, fn);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("depends on a size"), std::string::npos)
        << error.what();
  }
}

TEST(Sizes, AFunctionThatFailsSaysSo) {
  const auto fn = [](In in) -> std::vector<Tensor> {
    if (in[0].shape(0) > 100) throw std::runtime_error("too long");
    return {in[0] + 1};
  };
  EXPECT_THROW(graph::trace({randn({4})}, {{{0, {"rows"}}}}, fn), std::runtime_error);
  const graph::Program program = graph::trace({randn({4})}, {{{0, {"rows", 1, 100}}}}, fn);
  EXPECT_EQ(program({randn({100})})[0].shape(0), 100);
}

TEST(Sizes, TheCInterfaceTellsAndChecks) {
  tn_trace* trace = nullptr;
  tn_trace_dim twice[2] = {{sizeof(tn_trace_dim), 0, detail::to_str(std::string_view("a")), 0, 0},
                           {sizeof(tn_trace_dim), 0, detail::to_str(std::string_view("a")), 0, 0}};
  tn_status* status = tn_trace_begin_sizes(twice, 2, &trace);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(tn_status_code(status), TN_INVALID_ARGUMENT);
  tn_status_release(status);
  const graph::Program program = graph::trace({randn({4, 2})}, {{{0, {"rows", 2, 0}}}},
                                              [](In in) { return std::vector{in[0] * 2}; });
  tn_program_value value{};
  value.struct_size = sizeof value;
  detail::check(tn_program_input(program.get(), 0, &value));
  EXPECT_EQ(value.shape[0], -1);
  EXPECT_EQ(value.shape[1], 2);
  EXPECT_EQ(value.dims[0], 0);
  EXPECT_EQ(value.dims[1], -1);
  tn_trace_dim dim{};
  dim.struct_size = sizeof dim;
  detail::check(tn_program_get_dim(program.get(), 0, &dim));
  EXPECT_EQ(detail::to_view(dim.name), "rows");
  EXPECT_EQ(dim.min, 2);
  EXPECT_EQ(dim.max, 0);
}

}  // namespace
