// The networks of ../tenon_models.cpp in LibTorch.
#include <torch/torch.h>

#include "../models.hpp"

namespace {

namespace nn = torch::nn;
using torch::Tensor;

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct ResidualImpl : nn::Module {
  ResidualImpl(int64_t before, int64_t width, int64_t stride)
      : conv1(register_module("conv1", conv(before, width, 3, stride))),
        conv2(register_module("conv2", conv(width, width, 3, 1))),
        norm1(register_module("norm1", nn::BatchNorm2d(width))),
        norm2(register_module("norm2", nn::BatchNorm2d(width))) {
    if (stride == 1 && before == width) return;
    shortcut->push_back(conv(before, width, 1, stride));
    shortcut->push_back(nn::BatchNorm2d(width));
    register_module("shortcut", shortcut);
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = norm2(conv2(norm1(conv1(x)).relu()));
    return (y + (shortcut->is_empty() ? x : shortcut->forward(x))).relu();
  }
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d norm1, norm2;
  nn::Sequential shortcut;
};
TORCH_MODULE(Residual);

nn::Sequential resnet18() {
  nn::Sequential net(conv(3, 64, 7, 2), nn::BatchNorm2d(64), nn::ReLU(),
                     nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  int64_t before = 64;
  for (const int64_t width : {64, 128, 256, 512}) {
    net->push_back(Residual(before, width, width == 64 ? 1 : 2));
    net->push_back(Residual(width, width, 1));
    before = width;
  }
  net->push_back(nn::AdaptiveAvgPool2d(1));
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(512, 1000));
  return net;
}

struct BlockImpl : nn::Module {
  BlockImpl(int64_t width, int64_t of)
      : heads(of),
        norm1(register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})))),
        norm2(register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})))),
        qkv(register_module("qkv", nn::Linear(width, 3 * width))),
        out(register_module("out", nn::Linear(width, width))),
        up(register_module("up", nn::Linear(width, 4 * width))),
        down(register_module("down", nn::Linear(4 * width, width))) {}
  Tensor forward(const Tensor& x) {
    const int64_t b = x.size(0), n = x.size(1), width = x.size(2);
    const auto parts =
        qkv(norm1(x)).reshape({b, n, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    const Tensor y =
        torch::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, true);
    const Tensor z = x + out(y.transpose(1, 2).reshape({b, n, width}));
    return z + down(torch::gelu(up(norm2(z)), "tanh"));
  }
  int64_t heads;
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, out, up, down;
};
TORCH_MODULE(Block);

struct CharGPTImpl : nn::Module {
  CharGPTImpl(int64_t symbols, int64_t context, int64_t width, int64_t layers, int64_t heads)
      : tokens(register_module("tokens", nn::Embedding(symbols, width))),
        places(register_module("places", nn::Embedding(context, width))),
        blocks(register_module("blocks", nn::Sequential())),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})))) {
    for (int64_t i = 0; i < layers; ++i) blocks->push_back(Block(width, heads));
  }
  Tensor forward(const Tensor& index) {
    const Tensor x = tokens(index) + places->weight.narrow(0, 0, index.size(1));
    return torch::linear(norm(blocks->forward(x)), tokens->weight);
  }
  nn::Embedding tokens, places;
  nn::Sequential blocks;
  nn::LayerNorm norm;
};
TORCH_MODULE(CharGPT);

struct TaggerImpl : nn::Module {
  Tensor forward(const Tensor& index) { return last(std::get<0>(lstm->forward(embedding(index)))); }
  nn::Embedding embedding = register_module("embedding", nn::Embedding(96, 128));
  nn::LSTM lstm = register_module("lstm", nn::LSTM(nn::LSTMOptions(128, 256).batch_first(true)));
  nn::Linear last = register_module("last", nn::Linear(256, 96));
};
TORCH_MODULE(Tagger);

template <class Net>
void train(benchmark::State& state, Net net, const Tensor& x, const Tensor& target) {
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(1e-3).momentum(0.9));
  repeat(state, [&] {
    optimizer.zero_grad();
    const Tensor y = net->forward(x);
    torch::cross_entropy_loss(y.reshape({-1, y.size(-1)}), target).backward();
    optimizer.step();
  });
}

template <class Net>
void infer(benchmark::State& state, Net net, const Tensor& x) {
  const torch::NoGradGuard guard;
  net->eval();
  repeat(state, [&] { benchmark::DoNotOptimize(net->forward(x)); });
}

Tensor integers(int64_t high, at::IntArrayRef shape) {
  return torch::randint(high, shape, torch::kLong);
}

}  // namespace

static void resnet18_step(benchmark::State& state) {
  train(state, resnet18(), torch::randn({8, 3, 64, 64}), integers(1000, {8}));
}
static void resnet18_forward(benchmark::State& state) {
  const int64_t batch = state.range(0), size = state.range(1);
  infer(state, resnet18(), torch::randn({batch, 3, size, size}));
}
static void char_gpt_step(benchmark::State& state) {
  train(state, CharGPT(96, 64, 128, 4, 4), integers(96, {8, 64}), integers(96, {8 * 64}));
}
static void char_gpt_forward(benchmark::State& state) {
  infer(state, CharGPT(96, 64, 128, 4, 4), integers(96, {8, 64}));
}
static void lstm_step(benchmark::State& state) {
  train(state, Tagger(), integers(96, {16, 64}), integers(96, {16 * 64}));
}
static void lstm_forward(benchmark::State& state) {
  infer(state, Tagger(), integers(96, {state.range(0), 64}));
}
