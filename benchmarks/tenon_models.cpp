// Whole networks in C++, for the comparison with LibTorch: peers/libtorch_models.cpp has the same, under the same names.
#include "models.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"
#include "tenon/tenon.hpp"

using namespace tenon;

namespace {

// He et al. 2016, figure 5 left.
struct Residual : nn::Module {
  Residual(int64_t before, int64_t width, int64_t stride)
      : conv1(add("conv1",
                  nn::Conv2d(before, width, 3, {.stride = stride, .padding = 1, .bias = false}))),
        conv2(add("conv2", nn::Conv2d(width, width, 3, {.padding = 1, .bias = false}))),
        norm1(add("norm1", nn::BatchNorm2d(width))),
        norm2(add("norm2", nn::BatchNorm2d(width))),
        shortcut(add("shortcut", nn::Sequential())) {
    if (stride == 1 && before == width) return;
    shortcut.push(nn::Conv2d(before, width, 1, {.stride = stride, .bias = false}));
    shortcut.push(nn::BatchNorm2d(width));
  }
  Tensor forward(const Tensor& x) override {
    const Tensor y = norm2(conv2(norm1(conv1(x)).relu()));
    return (y + (shortcut.size() == 0 ? x : shortcut(x))).relu();
  }
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d norm1, norm2;
  nn::Sequential shortcut;
};

// ResNet-18, He et al. 2016, table 1.
nn::Sequential resnet18() {
  nn::Sequential net;
  net.push(nn::Conv2d(3, 64, 7, {.stride = 2, .padding = 3, .bias = false}));
  net.push(nn::BatchNorm2d(64));
  net.push(nn::ReLU());
  net.push(nn::MaxPool2d(3, {.stride = 2, .padding = 1}));
  int64_t before = 64;
  for (const int64_t width : {64, 128, 256, 512}) {
    net.push(Residual(before, width, width == 64 ? 1 : 2));
    net.push(Residual(width, width, 1));
    before = width;
  }
  net.push(nn::AdaptiveAvgPool2d(1));
  net.push(nn::Flatten());
  net.push(nn::Linear(512, 1000));
  return net;
}

// Pre-norm blocks: Radford et al. 2019.
struct Block : nn::Module {
  Block(int64_t width, int64_t of)
      : heads(of),
        norm1(add("norm1", nn::LayerNorm(width))),
        norm2(add("norm2", nn::LayerNorm(width))),
        qkv(add("qkv", nn::Linear(width, 3 * width))),
        out(add("out", nn::Linear(width, width))),
        up(add("up", nn::Linear(width, 4 * width))),
        down(add("down", nn::Linear(4 * width, width))) {}
  Tensor forward(const Tensor& x) override {
    const int64_t b = x.shape(0), n = x.shape(1), width = x.shape(2);
    const auto parts =
        qkv(norm1(x)).reshape({b, n, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    const Tensor y = attention(parts[0], parts[1], parts[2], {}, true).y;
    const Tensor z = x + out(y.transpose(1, 2).reshape({b, n, width}));
    return z + down(gelu(up(norm2(z)), "tanh"));
  }
  int64_t heads;
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, out, up, down;
};

struct CharGPT : nn::Module {
  CharGPT(int64_t symbols, int64_t context, int64_t width, int64_t layers, int64_t heads)
      : tokens(add("tokens", nn::Embedding(symbols, width))),
        places(add("places", nn::Embedding(context, width))),
        blocks(add("blocks", nn::ModuleList<Block>())),
        norm(add("norm", nn::LayerNorm(width))) {
    for (int64_t i = 0; i < layers; ++i) blocks.push(Block(width, heads));
  }
  Tensor forward(const Tensor& index) override {
    Tensor x = tokens(index) + places.weight->narrow(0, 0, index.shape(1));
    for (size_t i = 0; i < blocks.size(); ++i) x = blocks[i](x);
    return linear(norm(x), tokens.weight);
  }
  nn::Embedding tokens, places;
  nn::ModuleList<Block> blocks;
  nn::LayerNorm norm;
};

// Hochreiter and Schmidhuber 1997, over characters.
struct Tagger : nn::Module {
  Tensor forward(const Tensor& index) override {
    return last(std::get<0>(lstm.forward(embedding(index))));
  }
  nn::Embedding embedding = add("embedding", nn::Embedding(96, 128));
  nn::LSTM lstm = add("lstm", nn::LSTM(128, 256, {.batch_first = true}));
  nn::Linear last = add("last", nn::Linear(256, 96));
};

// Forward, cross-entropy, backward, SGD with momentum.
template <class Net>
void train(benchmark::State& state, Net net, const Tensor& x, const Tensor& target) {
  optim::SGD optimizer(net.parameters(), {.lr = 1e-3, .momentum = 0.9});
  repeat(state, [&] {
    optimizer.zero_grad();
    const Tensor y = net(x);
    cross_entropy(y.reshape({-1, y.shape(-1)}), target).backward();
    optimizer.step();
  });
}

template <class Net>
void infer(benchmark::State& state, Net net, const Tensor& x) {
  const NoGrad guard;
  net.eval();
  repeat(state, [&] { benchmark::DoNotOptimize(net(x)); });
}

}  // namespace

static void resnet18_step(benchmark::State& state) {
  train(state, resnet18(), normal({8, 3, 64, 64}), randint({8}, 0, 1000));
}
static void resnet18_forward(benchmark::State& state) {
  const int64_t batch = state.range(0), size = state.range(1);
  infer(state, resnet18(), normal({batch, 3, size, size}));
}
static void char_gpt_step(benchmark::State& state) {
  train(state, CharGPT(96, 64, 128, 4, 4), randint({8, 64}, 0, 96), randint({8 * 64}, 0, 96));
}
static void char_gpt_forward(benchmark::State& state) {
  infer(state, CharGPT(96, 64, 128, 4, 4), randint({8, 64}, 0, 96));
}
static void lstm_step(benchmark::State& state) {
  train(state, Tagger(), randint({16, 64}, 0, 96), randint({16 * 64}, 0, 96));
}
static void lstm_forward(benchmark::State& state) {
  infer(state, Tagger(), randint({state.range(0), 64}, 0, 96));
}
