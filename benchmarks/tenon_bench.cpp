// The works of the comparison with LibTorch and PyTorch, in Tenon. Names are those of
// peers/libtorch_bench.cpp and peers/torch_bench.py.
#include <benchmark/benchmark.h>

#include <cmath>

#include "tenon/tenon.hpp"

using namespace tenon;

namespace {

constexpr int64_t kMillion = 1 << 20;

Tensor floats(IntList shape) { return normal(shape); }

void add_16(benchmark::State& state) {
  NoGrad guard;
  Tensor x = floats({16}), y = floats({16});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}

void add_16_grad(benchmark::State& state) {
  Tensor x = floats({16}).requires_grad_(), y = floats({16});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}

void mul_sum_backward(benchmark::State& state) {
  Tensor x = floats({4}).requires_grad_(), y = floats({4}).requires_grad_();
  for (auto _ : state) (x * y).sum().backward();
}

// A perceptron with ReLU between its layers; one step is forward, cross-entropy, backward and SGD.
struct Perceptron {
  std::vector<Tensor> parameters;
  Tensor x, target;

  Perceptron(const std::vector<int64_t>& widths, int64_t batch) {
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      double bound = 1 / std::sqrt(static_cast<double>(widths[i]));
      parameters.push_back(uniform({widths[i + 1], widths[i]}, -bound, bound).requires_grad_());
      parameters.push_back(uniform({widths[i + 1]}, -bound, bound).requires_grad_());
    }
    x = floats({batch, widths.front()});
    target = randint({batch}, 0, widths.back());
  }

  Tensor forward() const {
    Tensor h = x;
    for (size_t i = 0; i < parameters.size(); i += 2)
      h = linear(h, parameters[i], parameters[i + 1], i + 2 < parameters.size() ? "relu" : "none");
    return h;
  }

  void step() {
    cross_entropy(forward(), target).backward();
    NoGrad guard;
    std::vector<Tensor> grads;
    for (Tensor& parameter : parameters) grads.push_back(parameter.grad());
    sgd_step(parameters, grads, std::vector<Tensor>{}, 1e-3);
    for (Tensor& parameter : parameters) parameter.set_grad({});
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
  NoGrad guard;
  Perceptron net({1024, 256, 256, 8}, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(net.forward());
}

void add_1m(benchmark::State& state) {
  NoGrad guard;
  Tensor x = floats({kMillion}), y = floats({kMillion});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}

template <class Fn>
void million(benchmark::State& state, Fn fn) {
  NoGrad guard;
  Tensor x = floats({1024, kMillion / 1024});
  for (auto _ : state) benchmark::DoNotOptimize(fn(x));
}

void matmul_1024(benchmark::State& state, DType dtype) {
  NoGrad guard;
  Tensor x = floats({1024, 1024}).to(dtype), y = floats({1024, 1024}).to(dtype);
  for (auto _ : state) benchmark::DoNotOptimize(matmul(x, y));
}

void conv_3x3(benchmark::State& state) {
  NoGrad guard;
  Tensor x = floats({8, 64, 56, 56}), w = floats({64, 64, 3, 3});
  for (auto _ : state) benchmark::DoNotOptimize(conv(x, w, {}, {1}, {1}));
}

BENCHMARK(add_16);
BENCHMARK(add_16_grad);
BENCHMARK(mul_sum_backward);
BENCHMARK(mlp_step);
BENCHMARK(classic_step)->Arg(8)->Arg(64)->Arg(512);
BENCHMARK(classic_forward)->Arg(8)->Arg(64)->Arg(512);
BENCHMARK(add_1m);
BENCHMARK_CAPTURE(million, exp, [](const Tensor& x) { return exp(x); });
BENCHMARK_CAPTURE(million, gelu, [](const Tensor& x) { return gelu(x); });
BENCHMARK_CAPTURE(million, softmax, [](const Tensor& x) { return softmax(x, 1); });
BENCHMARK_CAPTURE(million, layer_norm,
                  [](const Tensor& x) { return layer_norm(x, {x.shape()[1]}).y; });
BENCHMARK_CAPTURE(matmul_1024, f32, DType::F32);
BENCHMARK_CAPTURE(matmul_1024, bf16, DType::BF16);
BENCHMARK(conv_3x3);

}  // namespace

BENCHMARK_MAIN();
