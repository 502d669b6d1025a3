// The other side of test_io.py: trains a network and saves it, or loads one that Python trained.
// exchange train WEIGHTS OPTIMIZER RESULTS
// exchange load WEIGHTS OPTIMIZER RESULTS
#include <iostream>
#include <string>

#include "tenon/io.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"

using namespace tenon;

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string weights = argv[2], state = argv[3], results = argv[4];
  try {
    discover_plugins();
    manual_seed(11);
    nn::Sequential net;
    net.push("conv", nn::Conv2d(2, 4, 3, {.padding = 1})).push("norm", nn::BatchNorm(4));
    net.push("relu", nn::ReLU()).push("pool", nn::MaxPool(2));
    net.push("up", nn::ConvTranspose2d(4, 2, 2, {.stride = 2})).push("group", nn::GroupNorm(2, 2));
    net.push("flat", nn::Flatten()).push("out", nn::Linear(32, 3));
    net.push("layer", nn::LayerNorm({3})).push("rms", nn::RMSNorm({3}));
    optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
    const Tensor x = arange(0, 64, 1, DType::F32).reshape({2, 2, 4, 4}) / 64;
    if (std::string(argv[1]) == "train") {
      for (int step = 0; step < 3; ++step) {
        optimizer.zero_grad();
        cross_entropy(net(x), tensor({0, 2})).backward();
        optimizer.step();
      }
      io::save_safetensors(weights, net.state_dict());
      io::save_safetensors(state, optimizer.state_dict());
    } else {
      net.load_state_dict(io::load_safetensors(weights).tensors);
      optimizer.load_state_dict(io::load_safetensors(state).tensors);
    }
    net.eval();
    io::save_safetensors(
        results, {{"y", net(x).detach()}, {"step", optimizer.state_dict().at("state.0.step")}});
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "exchange: " << error.what() << '\n';
    return 1;
  }
}
