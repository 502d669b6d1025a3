// Fused nodes give the same bits as they do one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>

#include "expressions.hpp"
#include "tenon/autograd.hpp"
#include "tenon/graph.hpp"
#include "tenon/random.hpp"

namespace {

using namespace tenon;
using In = std::span<const Tensor>;
using Results = std::vector<Tensor>;

template <class T>
std::vector<T> elements_of(const Tensor& x) {
  std::vector<T> elements(x.nbytes() / sizeof(T));
  x.contiguous().to_host(elements.data(), x.nbytes());
  return elements;
}
template <class T>
bool same_elements(const Tensor& a, const Tensor& b) {
  // Which of two NaNs an addition propagates depends on how it was compiled.
  return std::ranges::equal(elements_of<T>(a), elements_of<T>(b), [](T x, T y) {
    return (x != x && y != y) ||
           std::ranges::equal(std::as_bytes(std::span(&x, 1)), std::as_bytes(std::span(&y, 1)));
  });
}
bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.shape(), b.shape())) return false;
  switch (a.dtype()) {
    case DType::F16:
    case DType::BF16:
      return same_elements<float>(a.to(DType::F32), b.to(DType::F32));
    case DType::F32:
    case DType::C64:
      return same_elements<float>(a, b);
    case DType::F64:
    case DType::C128:
      return same_elements<double>(a, b);
    default:
      return elements_of<char>(a) == elements_of<char>(b);
  }
}

// TENON_FUSE_CASES=10000 makes a long search, TENON_FUSE_SEED=10001 another one; TENON_FUSE_DEVICE=vulkan chooses another device.
uint64_t number(const char* variable, uint64_t otherwise) {
  const char* wanted = std::getenv(variable);
  return wanted == nullptr ? otherwise : std::strtoull(wanted, nullptr, 10);
}
uint64_t cases(uint64_t otherwise) { return number("TENON_FUSE_CASES", otherwise); }
Device device() {
  const char* wanted = std::getenv("TENON_FUSE_DEVICE");
  return Device(wanted == nullptr ? "cpu" : wanted);
}

struct Seen {
  size_t ran = 0, fused = 0, controlled = 0;
};

Results on(const Device& device, const Results& tensors) {
  Results made;
  for (const Tensor& one : tensors) made.push_back(one.to(device));
  return made;
}

// Empty if some op does not take some dtype.
std::optional<Results> eager(test::Expressions& fn, const Results& inputs) {
  try {
    return fn(inputs);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Empty, or the difference.
std::string difference(const graph::Program& program, const Results& inputs,
                       const Results& wanted) {
  const Results found = program(inputs);
  for (size_t k = 0; k < wanted.size(); ++k)
    if (!same(found[k].cpu(), wanted[k].cpu()))
      return "result " + std::to_string(k) + "\n" + program.text() + program.text(true);
  return {};
}

std::string compare(uint64_t seed, Seen& seen) {
  const NoGrad no_grad;
  test::Expressions fn(seed);
  const Results inputs = on(device(), fn.inputs());
  const std::optional<Results> wanted = eager(fn, inputs);
  if (!wanted) return {};
  const graph::Program program = graph::trace(inputs, std::ref(fn), device());
  const std::string text = program.explain();
  ++seen.ran;
  seen.fused += text.find(" fused ") != std::string::npos ? 1 : 0;
  seen.controlled +=
      text.find("cond(") != std::string::npos || text.find("scan(") != std::string::npos ? 1 : 0;
  std::string problem = difference(program, inputs, *wanted);
  return problem.empty() ? difference(program, inputs, *wanted) : problem;
}

// The same with a program for all sizes, at sizes that were not traced.
std::string compare_sizes(uint64_t seed, Seen& seen) {
  const NoGrad no_grad;
  test::Expressions fn(seed);
  if (fn.shape().empty() || !eager(fn, on(device(), fn.inputs()))) return {};
  const graph::Dims dims = fn.dims();
  if (std::ranges::all_of(dims, &std::map<uint32_t, graph::Dim>::empty)) return {};
  const graph::Program program =
      graph::trace(on(device(), fn.inputs()), dims, std::ref(fn), device());
  ++seen.ran;
  for (const int64_t step : {1, 2, 3, 8, 60}) {
    std::vector<int64_t> shape = fn.shape();
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] > 1) shape[d] = 2 + (shape[d] + step * static_cast<int64_t>(d + 1)) % 90;
    const Results inputs = on(device(), fn.inputs(shape, static_cast<uint64_t>(step)));
    const std::string problem = difference(program, inputs, fn(inputs));
    if (!problem.empty()) return "size " + std::to_string(shape[0]) + ", … " + problem;
  }
  return {};
}

template <class Compare>
Seen search(uint64_t count, Compare&& compare) {
  Seen seen;
  const uint64_t first = number("TENON_FUSE_SEED", 1);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::string problem;
    try {
      problem = compare(seed, seen);
    } catch (const Error& error) {
      problem = error.what();
    }
    EXPECT_EQ(problem, "") << "seed " << seed;
    if (!problem.empty()) break;
  }
  return seen;
}

TEST(Fuse, RandomExpressionsAreTheSameBits) {
  const uint64_t count = cases(400);
  const Seen seen = search(count, compare);
  EXPECT_GT(seen.ran, count * 3 / 4);
  if (device() == Device("cpu")) {
    EXPECT_GT(seen.fused, seen.ran / 2);
  }
  EXPECT_GT(seen.controlled, seen.ran / 6);
}

TEST(Fuse, RandomExpressionsOfAnySize) {
  const uint64_t count = cases(150);
  EXPECT_GT(search(count, compare_sizes).ran, count / 2);
}

// What was fused at one size is fused at similar sizes; rows of more than 4,096 elements are not.
TEST(Fuse, OneSizeAfterAnother) {
  const auto norm = [](In in) {
    const Tensor x = in[0] + in[1];
    const Tensor scaled = x / (x * x).mean({-1}, true).sqrt();
    return Results{scaled * 1.5 + in[0], scaled.sum({-1}).exp(), x.narrow(0, 0, 1) * 2};
  };
  const NoGrad no_grad;
  const graph::Program program = graph::trace(
      {randn({3, 5}), randn({5})}, {{{0, {"rows"}}, {1, {"columns"}}}, {{0, {"columns"}}}}, norm);
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{8, 64},
                                      {9, 65},
                                      {1, 128},
                                      {30, 1},
                                      {16, 64},
                                      {2, 2048},
                                      {3, 4096},
                                      {3, 4097},
                                      {2, 4096},
                                      {40, 300},
                                      {8, 64}}) {
    const Results inputs = {randn({rows, columns}), randn({columns})};
    EXPECT_EQ(difference(program, inputs, norm(inputs)), "") << rows << " by " << columns;
  }
}

// One value that goes to a slice first, and then to a result of its own.
TEST(Fuse, OneValueInTwoPlaces) {
  const auto fn = [](In in) {
    Tensor x = in[0] * 1.0, part = x.narrow(1, 1, 2);
    const Tensor value = silu(part) * 0.9;
    part.copy_(value);
    return Results{x, value.clone()};
  };
  const NoGrad no_grad;
  const Results inputs = {randn({5, 7})};
  const graph::Program program = graph::trace(inputs, fn);
  EXPECT_EQ(difference(program, inputs, fn(In(inputs))), "") << program.explain();
}

// Large enough for several threads, with outputs that share the memory of inputs.
TEST(Fuse, LargeOperandsInPlace) {
  const auto step = [](In in) {
    Tensor m = in[0].matmul(in[1]), v = in[1].matmul(in[0]);
    m = m * 0.9 + in[0] * 0.1;
    v = v * 0.99 + in[0] * in[0] * 0.01;
    const Tensor update = m / (sqrt(abs(v)) + 1e-8);
    return Results{(in[1] - update * 0.01).matmul(in[0]), m.sum({0}), v.t().relu().sum({1}, true)};
  };
  const NoGrad no_grad;
  const Results inputs = {randn({700, 700}), randn({700, 700})};
  const graph::Program program = graph::trace(inputs, step);
  EXPECT_GE(program.info().fused, 12u) << program.explain();
  const Results wanted = step(In(inputs));
  for (int run = 0; run < 3; ++run) {
    const Results found = program(inputs);
    for (size_t k = 0; k < wanted.size(); ++k)
      EXPECT_TRUE(same(found[k], wanted[k])) << "result " << k << "\n" << program.explain();
  }
}

// Chains of cheap f32 ops run in registers. Covers sizes that end within vectors and tiles, operands on both sides, single values, values
// that are used again, two outputs, and special numbers.
TEST(Fuse, ChainsOfCheapOps) {
  const auto chain = [](In in) {
    const Tensor& x = in[0];
    const Tensor& y = in[1];
    const Tensor one = in[2].sum() * 0.01;
    const Tensor first = (x * 0.5 + 0.25) * y - 0.1;
    const Tensor second = abs(first) * first + 1;
    const Tensor third = 2 / (3 - relu(-second)) - second * second;
    const Tensor fourth = sqrt(abs(third + third)) / (y - third) * one;
    return Results{one / (one - (y - x)), third, fourth - fourth, fourth, second.tanh() + 1 - x};
  };
  const NoGrad no_grad;
  for (const int64_t size : {1, 2, 7, 15, 16, 17, 63, 127, 128, 129, 255, 511, 513, 1000, 5000}) {
    const Results inputs = {randn({size}) * 3, randn({size}), randn({4})};
    const graph::Program program = graph::trace(inputs, chain);
    EXPECT_GE(program.info().fused, 20u) << program.explain();
    EXPECT_EQ(difference(program, inputs, chain(inputs)), "") << size;
  }
  const float special[] = {0, -0.F, INFINITY, -INFINITY, NAN, 1e-45F, -1e-45F, 3e38F, -1, 1};
  const Tensor x = tensor(std::vector<float>(special, special + 10)), by_row = x.reshape({10, 1});
  const Results inputs = {by_row.expand({10, 10}).contiguous(), x.expand({10, 10}).contiguous(),
                          ones({4})};
  EXPECT_EQ(difference(graph::trace(inputs, chain), inputs, chain(inputs)), "");
}

// The ops of quantised layers: integers, rounding and bounds between floats, with single values on both sides.
TEST(Fuse, ChainsOfIntegersAndBounds) {
  const auto chain = [](In in) {
    const Tensor& x = in[0];  // i32
    const Tensor& y = in[1];
    const Tensor sum = (y - (x + y) - x) - in[2].to(DType::I32).sum().to(DType::I32);
    const Tensor scaled = round(sum.to(DType::F32) * 0.37 / 3);
    const Tensor bytes = clamp(scaled + 5, 0, 255), high = clamp(in[3], {}, 2.5);
    return Results{bytes.to(DType::U8), sum, clamp(round(in[3]) * scaled, 3, -3), high,
                   clamp(high, -1, INFINITY) - round(in[3])};
  };
  const NoGrad no_grad;
  const int32_t integers[] = {0, 1, -1, INT32_MAX, INT32_MIN, 1 << 24, (1 << 24) + 1, 700, -700, 2};
  const float special[] = {0, -0.F, INFINITY, -INFINITY, NAN, 1e-45F, -0.5F, 3e38F, 2.5F, 1.5F};
  const auto repeated = [](const auto& values, int64_t size, size_t step) {
    std::vector<std::remove_cvref_t<decltype(values[0])>> made;
    for (int64_t i = 0; i < size; ++i)
      made.push_back(values[static_cast<size_t>(i) * step % std::size(values)]);
    return tensor(made);
  };
  for (const int64_t size : {1, 16, 67, 100, 129, 1000}) {
    const Results inputs = {repeated(integers, size, 1), repeated(integers, size, 3), ones({4}),
                            repeated(special, size, 7)};
    const graph::Program program = graph::trace(inputs, chain);
    EXPECT_EQ(difference(program, inputs, chain(inputs)), "") << size << program.explain();
  }
}

// Outputs that fit into no cache are stored past the caches.
TEST(Fuse, LargeOutputsOfChains) {
  const auto chain = [](In in) {
    const Tensor y = (in[0] * 0.5 + 0.25) * in[0];
    return Results{abs(y) * y + 1, y - in[0]};
  };
  const NoGrad no_grad;
  const Results inputs = {randn({1 << 21, 3}).narrow(0, 1, (1 << 21) - 5).contiguous()};
  const graph::Program program = graph::trace(inputs, chain);
  EXPECT_EQ(program.info().nodes, 1u) << program.explain();
  const Results wanted = chain(inputs);
  for (int run = 0; run < 3; ++run) EXPECT_EQ(difference(program, inputs, wanted), "");
}

}  // namespace
