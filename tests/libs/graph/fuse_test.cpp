// Fused nodes give the bits that they give one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
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
  // Which of two NaN an addition hands on depends on how it was compiled.
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

// TENON_FUSE_CASES=10000 for a long search.
uint64_t cases() {
  const char* wanted = std::getenv("TENON_FUSE_CASES");
  return wanted == nullptr ? 400 : std::strtoull(wanted, nullptr, 10);
}

// Empty, or what differs.
std::string compare(uint64_t seed, size_t& ran, size_t& fused) {
  const NoGrad no_grad;
  test::Expressions fn(seed);
  Results wanted;
  try {
    wanted = fn(fn.inputs());
  } catch (const Error&) {
    return {};  // not every op takes every dtype
  }
  const graph::Program program = graph::trace(fn.inputs(), std::ref(fn));
  ++ran;
  fused += program.explain().find(" fused ") != std::string::npos ? 1 : 0;
  for (int run = 0; run < 2; ++run) {
    const Results found = program(fn.inputs());
    for (size_t k = 0; k < wanted.size(); ++k)
      if (!same(found[k], wanted[k]))
        return "result " + std::to_string(k) + " of run " + std::to_string(run) + "\n" +
               program.text() + program.text(true);
  }
  return {};
}

TEST(Fuse, RandomExpressionsAreTheSameBits) {
  size_t ran = 0, fused = 0;
  for (uint64_t seed = 1; seed <= cases(); ++seed) {
    std::string problem;
    try {
      problem = compare(seed, ran, fused);
    } catch (const Error& error) {
      problem = error.what();
    }
    ASSERT_EQ(problem, "") << "seed " << seed;
  }
  EXPECT_GT(ran, cases() * 3 / 4);
  EXPECT_GT(fused, ran / 2);
}

// Large enough for several threads, and with outputs that lie in the memory of inputs.
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

}  // namespace
