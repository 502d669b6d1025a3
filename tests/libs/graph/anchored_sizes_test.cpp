// Programs for any number of images: kernels for the sizes share their copies of the weights.
#include <gtest/gtest.h>
#include <malloc.h>

#include <thread>

#include "tenon/autograd.hpp"
#include "tenon/creation.hpp"
#include "tenon/graph.hpp"
#include "tenon/ops.hpp"
#include "tenon/random.hpp"
#include "tenon/threads.hpp"

namespace {

using namespace tenon;
using In = std::span<const Tensor>;

// Two convolutions, the second with a norm, over small images.
struct Net {
  explicit Net(int64_t channels)
      : first(randn({channels, channels, 3, 3}) * 0.1), second(randn({channels, channels, 3, 3})) {
    for (Tensor* one : {&bias, &shift, &mean}) *one = randn({channels});
    var = rand({channels}) + 0.5;
  }
  std::vector<Tensor> operator()(In in) const {
    const Tensor x = relu(conv(in[0], first, bias, {1, 1}, {1, 1}));
    const Tensor y = conv(x, second, {}, {1, 1}, {1, 1});
    return {relu(batch_norm(y, bias, shift, mean, var, false, 1e-3).y + in[0])};
  }
  graph::Program traced() const {
    return graph::trace({randn({2, second.shape(0), 5, 5})}, {{{0, {"images"}}}}, *this);
  }
  Tensor images(int64_t count) const { return randn({count, second.shape(0), 5, 5}); }
  uint64_t bytes() const { return first.nbytes() + second.nbytes(); }

  Tensor first, second, bias, shift, mean, var;
};

// The largest difference of the first results, over the largest element.
double error(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted) {
  const double most = abs(wanted[0]).max().item<float>();
  return abs(found[0] - wanted[0]).max().item<float>() / most;
}

int64_t heap_used() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<int64_t>(now.uordblks + now.hblkhd);
}

class AnchoredSizes : public testing::Test {
 protected:
  void SetUp() override { manual_seed(3); }
  const NoGrad no_grad_;
};

TEST_F(AnchoredSizes, KernelsForAllSizesShareWeights) {
  const Net net(256);
  const graph::Program program = net.traced();
  const auto run = [&](int64_t count) {
    const Tensor x = net.images(count);
    EXPECT_LT(error(program({x}), net(In(&x, 1))), 1e-4) << count;
  };
  for (const int64_t count : {2, 3, 5, 8, 13}) run(count);  // in every layout that is wanted
  const int64_t before = heap_used();
  for (const int64_t count : {6, 7, 9}) run(count);
  EXPECT_LT(heap_used() - before, static_cast<int64_t>(net.bytes()));
}

// Products of bytes, too, whose copy takes as much memory as the weight.
TEST_F(AnchoredSizes, KernelsOfBytesShareWeights) {
  Tensor weight = randn({1024, 1024});
  const auto fn = [&](In in) { return std::vector{linear(in[0], weight)}; };
  const graph::Program program = graph::trace({randn({3, 1024})}, {{{0, {"rows"}}}}, fn).quantize();
  const auto run = [&](int64_t count) {
    const Tensor x = randn({count, 1024});
    for (int turn = 0; turn < 2; ++turn)  // the second makes a plan
      EXPECT_LT(error(program({x}), fn(In(&x, 1))), 0.05) << count;
  };
  for (const int64_t count : {2, 5, 8}) run(count);
  const int64_t before = heap_used();
  for (const int64_t count : {6, 7, 9, 17}) run(count);
  EXPECT_LT(heap_used() - before, 1024 * 1024);
}

// From 128 rows on, a program of a live weight reads it where it lies.
TEST_F(AnchoredSizes, ManyRowsNeedNoCopyOfAWeight) {
  const Tensor weight = randn({1024, 1024}) * 0.1, bias = randn({1024});
  const auto fn = [&](In in) { return std::vector{gelu(linear(in[0], weight, bias)) + in[0]}; };
  const auto grown_by = [&](int64_t rows) {
    const Tensor x = randn({rows, 1024});
    const int64_t before = heap_used();
    const graph::Program program = graph::trace({x}, fn);
    EXPECT_LT(error(program({x}), fn(In(&x, 1))), 1e-5) << rows;
    EXPECT_EQ(program.info().fused, 3U) << program.explain();
    return heap_used() - before;
  };
  const auto copy = static_cast<int64_t>(weight.nbytes());
  EXPECT_LT(grown_by(200), copy / 2);
}

TEST_F(AnchoredSizes, EachSizeFollowsWeightsThatChange) {
  Net net(32);
  const graph::Program program = net.traced();
  for (int round = 0; round < 4; ++round) {
    for (const int64_t count : {3, 5, 3, 7 + round, 40, 5}) {
      const Tensor x = net.images(count);
      EXPECT_LT(error(program({x}), net(In(&x, 1))), 1e-4) << count << " in round " << round;
    }
    Tensor& changed = round == 0 ? net.first : round == 1 ? net.second : net.mean;
    changed.copy_(changed * 0.5 + 0.25);
  }
}

TEST_F(AnchoredSizes, ThreadsPlanOtherSizesWhileSomeRun) {
  const Net net(32);
  const graph::Program program = net.traced();
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      const NoGrad no_grad;
      for (int64_t turn = 0; turn < 12; ++turn) {
        const Tensor x = full({1 + (turn * 5 + static_cast<int64_t>(t)) % 13, 32, 5, 5}, 0.5) +
                         arange(5).to(DType::F32);
        wrong[t] += error(program({x}), net(In(&x, 1))) < 1e-4 ? 0 : 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
