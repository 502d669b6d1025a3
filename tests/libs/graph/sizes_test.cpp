// Programs for inputs of any size, from C++ and C.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <thread>

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
    const std::vector<Tensor> wanted = fn(In(&x, 1));
    for (int turn = 0; turn < 3; ++turn) {  // by calls, then by a plan
      const std::vector<Tensor> found = program({x});
      ASSERT_EQ(found.size(), wanted.size());
      for (size_t k = 0; k < wanted.size(); ++k) {
        EXPECT_TRUE(std::ranges::equal(found[k].shape(), wanted[k].shape()));
        EXPECT_EQ(bytes_of(found[k]), bytes_of(wanted[k])) << k << " at " << rows;
      }
    }
  }
  EXPECT_THROW(program({randn({2, 2, 4})}), Error);
  EXPECT_THROW(program({randn({2, 51, 4})}), Error);
}

// A function of rows whose intermediate results are five times as large as its result.
struct Widened {
  Tensor up = randn({40, 8}), down = randn({8, 40});
  std::vector<Tensor> operator()(In in) const {
    const Tensor x = linear(in[0], up).tanh();
    return {linear(x * 2 + 1, down)};
  }
};

TEST(Sizes, AllSizesWorkInOneMemory) {
  const Widened widened;
  const graph::Program program = graph::trace({randn({2, 8})}, {{{0, {"rows"}}}}, widened);
  const Device host("cpu");
  const NoGrad no_grad;
  const Tensor largest = randn({3000, 8});
  program({largest});
  const uint64_t before = host.memory().used;
  for (int64_t rows = 1000; rows < 3000; rows += 100) program({randn({rows, 8})});
  EXPECT_LT(host.memory().used - before, uint64_t{3000 * 40 * 4});
  for (const int64_t rows : {5, 4000, 17, 3000, 4000})  // grows, and serves smaller sizes again
    for (int again = 0; again < 2; ++again) {
      const Tensor x = randn({rows, 8});
      EXPECT_EQ(bytes_of(program({x})[0]), bytes_of(widened(In(&x, 1))[0])) << rows;
    }
}

TEST(Sizes, ThreadsRunOtherSizesAtOnce) {
  const Widened widened;
  const graph::Program program = graph::trace({randn({2, 8})}, {{{0, {"rows"}}}}, widened);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      const NoGrad no_grad;
      for (int64_t turn = 0; turn < 100; ++turn) {
        const Tensor x = arange(8 * (1 + (turn * 7 + static_cast<int64_t>(t)) % 50)).to(DType::F32);
        const Tensor rows = x.reshape({-1, 8}) * 0.01;
        wrong[t] += bytes_of(program({rows})[0]) != bytes_of(widened(In(&rows, 1))[0]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

// A function of rows with results that are views, its input, a weight and one another.
TEST(Sizes, CallsAndPlansGiveTheSame) {
  const Tensor weight = randn({3, 4});
  const auto fn = [&](In in) {
    Tensor y = matmul(in[0], weight) * 2;
    y.narrow(1, 1, 2).copy_(y.narrow(1, 0, 2) + 1);
    const Tensor turned = y.transpose(0, 1);
    return std::vector{turned,
                       y,
                       in[0],
                       in[0].narrow(1, 0, 2),
                       weight,
                       turned.contiguous().exp(),
                       y.sum({0}).cumsum(0)};
  };
  const graph::Program program = graph::trace({randn({2, 3})}, {{{0, {"rows", 0, 50}}}}, fn);
  const NoGrad no_grad;
  for (const int64_t rows : {1, 2, 33, 50}) {
    const Tensor x = randn({rows, 3}), kept = x.clone();
    const std::vector<Tensor> wanted = fn(In(&x, 1));
    std::vector<Tensor> earlier;
    for (int turn = 0; turn < 3; ++turn) {
      const std::vector<Tensor> found = program({x});
      for (size_t k = 0; k < wanted.size(); ++k) {
        EXPECT_TRUE(std::ranges::equal(found[k].shape(), wanted[k].shape()));
        EXPECT_EQ(bytes_of(found[k]), bytes_of(wanted[k])) << k << " at " << rows;
      }
      Tensor mine = found[5];
      mine.fill_(0);  // is nobody else's
      EXPECT_EQ(bytes_of(x), bytes_of(kept));
      if (!earlier.empty()) {
        EXPECT_EQ(bytes_of(earlier[0]), bytes_of(wanted[0]));
      }
      earlier = found;
    }
  }
}

// Nodes repeat each other, and copies change nothing, at some sizes alone: whichever are planned first.
TEST(Sizes, NodesThatAreEqualAtOneSizeAreNotAtOthers) {
  const auto fn = [](In in) {
    const int64_t rows = in[0].shape(0);
    const Tensor half = in[0].narrow(0, 0, rows / 2), three = in[0].narrow(0, 0, 3);
    const Tensor part = in[0].narrow(0, 0, (rows + 6) / 2).contiguous();
    return std::vector{half.exp().sum({0}) + three.exp().sum({0}), part * 2 + 1};
  };
  const NoGrad no_grad;
  for (const std::vector<int64_t>& order : {std::vector<int64_t>{6, 8, 7, 6}, {12, 6, 7, 12}}) {
    const graph::Program program = graph::trace({randn({9, 4})}, {{{0, {"rows", 6, 50}}}}, fn);
    for (const int64_t rows : order) {
      const Tensor x = randn({rows, 4});
      const std::vector<Tensor> wanted = fn(In(&x, 1));
      for (int turn = 0; turn < 3; ++turn) {
        const std::vector<Tensor> found = program({x});
        for (size_t k = 0; k < wanted.size(); ++k)
          EXPECT_EQ(bytes_of(found[k]), bytes_of(wanted[k])) << k << " at " << rows;
      }
    }
  }
}

TEST(Sizes, RunsByCallsKeepNothing) {
  const Widened widened;
  const graph::Program program = graph::trace({randn({2, 8})}, {{{0, {"rows"}}}}, widened);
  const Device host("cpu");
  const NoGrad no_grad;
  program({randn({60, 8})});
  const uint64_t before = host.memory().used;
  for (int64_t rows = 61; rows < 110; ++rows) program({randn({rows, 8})});
  EXPECT_EQ(host.memory().used, before);
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
    if (in[0].shape(0) > 100 || in[0].shape(0) % 5 == 2) throw std::runtime_error("not so many");
    return {in[0] + 1};
  };
  EXPECT_THROW(graph::trace({randn({4})}, {{{0, {"rows"}}}}, fn), std::runtime_error);
  const graph::Program program = graph::trace({randn({5})}, {{{0, {"rows", 5, 100, 5}}}}, fn);
  EXPECT_EQ(program({randn({100})})[0].shape(0), 100);
}

TEST(Sizes, TheGreatestSizeIsFound) {
  const auto fn = [](In in) -> std::vector<Tensor> {
    if (in[0].shape(0) > 100) throw std::runtime_error("too long");
    return {in[0] + 1};
  };
  const graph::Program program = graph::trace({randn({4})}, {{{0, {"rows"}}}}, fn);
  EXPECT_EQ(program({randn({100})})[0].shape(0), 100);
  EXPECT_THROW(program({randn({101})}), Error);
}

// Traces in C a function of a vector that fails where `fails` says so, and otherwise calls what `op` gives. Returns
// tn_trace_function_failed after the error, or nothing if there is none.
std::optional<uint32_t> function_failed(const std::function<bool(int64_t)>& fails,
                                        const std::function<Tensor(const Tensor&)>& op) {
  const tn_trace_dim dim{sizeof(tn_trace_dim), 0, detail::to_str(std::string_view("rows")), 0, 0};
  const Tensor like = randn({6});
  const int32_t of = 0;
  tn_trace* began = nullptr;
  detail::check(tn_trace_begin_sizes(&dim, 1, &began));
  const std::unique_ptr<tn_trace, void (*)(tn_trace*)> trace(began, &tn_trace_drop);
  EXPECT_EQ(tn_trace_function_failed(began), 0u);
  for (uint32_t more = 1; more != 0;) {
    tn_tensor* made = nullptr;
    detail::check(tn_trace_input_sized(began, like.get(), {}, &of, &made));
    const Tensor x = Tensor::adopt(made);
    tn_status* refused = nullptr;
    if (fails(x.shape(0))) {
      refused = tn_trace_failed(began, &more);
    } else {
      const Tensor y = op(x);
      tn_tensor* const result = y.get();
      refused = tn_trace_next(began, &result, 1, &more);
    }
    if (refused == nullptr) continue;
    tn_status_release(refused);
    return tn_trace_function_failed(began);
  }
  return std::nullopt;
}

TEST(Sizes, TheCInterfaceTellsIfTheFunctionFailed) {
  EXPECT_EQ(tn_trace_function_failed(nullptr), 0u);
  const auto sine = [](const Tensor& x) { return x.sin(); };
  const auto branch = [](const Tensor& x) { return x.shape(0) > 100 ? x.exp() : x.sin(); };
  EXPECT_EQ(function_failed([](int64_t) { return false; }, sine), std::nullopt);
  EXPECT_EQ(function_failed([](int64_t size) { return size % 2 != 0; }, sine), std::nullopt);
  EXPECT_EQ(function_failed([](int64_t size) { return size > 20; }, sine), std::nullopt);
  EXPECT_EQ(function_failed([](int64_t size) { return size % 5 == 2; }, sine), 1u);
  // It fails at odd sizes, which it need not take; what is refused is the branch.
  EXPECT_EQ(function_failed([](int64_t size) { return size % 2 != 0; }, branch), 0u);
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
