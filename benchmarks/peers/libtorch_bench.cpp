// The works of ../tenon_bench.cpp in LibTorch. Compiled by run.py against the wheel's headers.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include <cmath>

namespace {

constexpr int64_t kMillion = 1 << 20;

void add_16(benchmark::State& state) {
  torch::NoGradGuard guard;
  auto x = torch::randn({16}), y = torch::randn({16});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}

void add_16_grad(benchmark::State& state) {
  auto x = torch::randn({16}).requires_grad_(), y = torch::randn({16});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}

void mul_sum_backward(benchmark::State& state) {
  auto x = torch::randn({4}).requires_grad_(), y = torch::randn({4}).requires_grad_();
  for (auto _ : state) (x * y).sum().backward();
}

struct Perceptron {
  torch::nn::Sequential net;
  torch::optim::SGD optimizer;
  torch::Tensor x, target;

  static torch::nn::Sequential make(const std::vector<int64_t>& widths) {
    torch::nn::Sequential net;
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      net->push_back(torch::nn::Linear(widths[i], widths[i + 1]));
      if (i + 2 < widths.size()) net->push_back(torch::nn::ReLU());
    }
    return net;
  }
  Perceptron(const std::vector<int64_t>& widths, int64_t batch)
      : net(make(widths)),
        optimizer(net->parameters(), 1e-3),
        x(torch::randn({batch, widths.front()})),
        target(torch::randint(widths.back(), {batch})) {}

  void step() {
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(x), target).backward();
    optimizer.step();
  }
};

void mlp_step(benchmark::State& state) {
  Perceptron net({64, 64, 10}, 32);
  for (auto _ : state) net.step();
}
void classic_step(benchmark::State& state) {
  Perceptron net({1024, 256, 256, 8}, state.range(0));
  for (auto _ : state) net.step();
}
void classic_forward(benchmark::State& state) {
  torch::NoGradGuard guard;
  Perceptron net({1024, 256, 256, 8}, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(net.net->forward(net.x));
}

void add_1m(benchmark::State& state) {
  torch::NoGradGuard guard;
  auto x = torch::randn({kMillion}), y = torch::randn({kMillion});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}

template <class Fn>
void million(benchmark::State& state, Fn fn) {
  torch::NoGradGuard guard;
  auto x = torch::randn({1024, kMillion / 1024});
  for (auto _ : state) benchmark::DoNotOptimize(fn(x));
}

void matmul_1024(benchmark::State& state, torch::Dtype dtype) {
  torch::NoGradGuard guard;
  auto x = torch::randn({1024, 1024}).to(dtype), y = torch::randn({1024, 1024}).to(dtype);
  for (auto _ : state) benchmark::DoNotOptimize(torch::matmul(x, y));
}

void conv_3x3(benchmark::State& state) {
  torch::NoGradGuard guard;
  auto x = torch::randn({8, 64, 56, 56}), w = torch::randn({64, 64, 3, 3});
  for (auto _ : state) benchmark::DoNotOptimize(torch::conv2d(x, w, {}, 1, 1));
}

BENCHMARK(add_16);
BENCHMARK(add_16_grad);
BENCHMARK(mul_sum_backward);
BENCHMARK(mlp_step);
BENCHMARK(classic_step)->Arg(8)->Arg(64)->Arg(512);
BENCHMARK(classic_forward)->Arg(8)->Arg(64)->Arg(512);
BENCHMARK(add_1m);
BENCHMARK_CAPTURE(million, exp, [](const torch::Tensor& x) { return x.exp(); });
BENCHMARK_CAPTURE(million, gelu, [](const torch::Tensor& x) { return torch::gelu(x); });
BENCHMARK_CAPTURE(million, softmax, [](const torch::Tensor& x) { return x.softmax(1); });
BENCHMARK_CAPTURE(million, layer_norm,
                  [](const torch::Tensor& x) { return torch::layer_norm(x, {x.size(1)}); });
BENCHMARK_CAPTURE(matmul_1024, f32, torch::kFloat);
BENCHMARK_CAPTURE(matmul_1024, bf16, torch::kBFloat16);
BENCHMARK(conv_3x3);

}  // namespace

BENCHMARK_MAIN();
