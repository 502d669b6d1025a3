// Whole training runs on the device: the loss follows that of the CPU from the same seed, and nothing falls back to the host.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "device.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"

namespace {

using namespace tenon;

// The classic network: Flatten → Linear → ReLU → Linear → ReLU → Linear.
struct Dense : nn::Module {
  nn::Linear a = add("a", nn::Linear(64, 32)), b = add("b", nn::Linear(32, 32)),
             c = add("c", nn::Linear(32, 8));
  Tensor forward(const Tensor& x) override { return c(b(a(x.flatten(1)).relu()).relu()); }
};

// The network of examples/fashion_mnist, smaller.
struct Convolutional : nn::Module {
  nn::Conv2d conv1 = add("conv1", nn::Conv2d(1, 4, 3, {.padding = 1}));
  nn::BatchNorm norm = add("norm", nn::BatchNorm(4));
  nn::Conv2d conv2 = add("conv2", nn::Conv2d(4, 8, 3, {.padding = 1}));
  nn::MaxPool pool = add("pool", nn::MaxPool(2));
  nn::Dropout dropout = add("dropout", nn::Dropout(0.1));
  nn::Linear out = add("out", nn::Linear(8 * 2 * 2, 8));
  Tensor forward(const Tensor& x) override {
    const Tensor y = pool(norm(conv1(x)).relu());
    return out(dropout(pool(conv2(y)).relu().flatten(1)));
  }
};

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(nn::Module&)>;

// The losses of 100 steps on 8 × 8 images, whose class is given by a fixed projection.
template <class Net>
std::vector<float> losses(const Device& device, const MakeOptimizer& make) {
  manual_seed(5);
  const Tensor images = normal({256, 1, 8, 8}),
               wanted = matmul(images.flatten(1), normal({64, 8})).argmax(1);
  Net net;
  net.to(device);
  const auto optimizer = make(net);
  const Tensor x = to(images, device), y = to(wanted, device);
  device.synchronize();
  tn_fallback_set(TN_FALLBACK_DENY);
  std::vector<Tensor> seen;
  for (int64_t step = 0; step < 100; ++step) {
    const int64_t first = step % 8 * 32;
    const Tensor loss =
        cross_entropy(net(slice(x, 0, first, first + 32)), slice(y, 0, first, first + 32));
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    seen.push_back(loss.detach());  // read at the end, so no step waits for the device
  }
  tn_fallback_set(TN_FALLBACK_WARN);
  return stack(seen).to_vector<float>();
}

template <class Net>
void expect_same_curve(const MakeOptimizer& make) {
  const auto host = losses<Net>(Device("cpu"), make), there = losses<Net>(test_vulkan::gpu(), make);
  EXPECT_LT(host.back(), 0.8f * host.front());  // it learns
  for (size_t i = 0; i < host.size(); ++i)
    ASSERT_LE(std::abs(there[i] - host[i]), 1e-3f * std::max(host[i], 0.1f))
        << "step " << i << ": " << there[i] << ", " << host[i];
}

TEST(Training, TheClassicNetworkWithMomentum) {
  expect_same_curve<Dense>([](nn::Module& net) {
    return std::make_unique<optim::SGD>(net.parameters(),
                                        optim::SGDOptions{.lr = 0.05, .momentum = 0.9});
  });
}

TEST(Training, AConvolutionalNetworkWithAdam) {
  expect_same_curve<Convolutional>([](nn::Module& net) {
    return std::make_unique<optim::AdamW>(net.parameters(), optim::AdamWOptions{.lr = 1e-2});
  });
}

}  // namespace
