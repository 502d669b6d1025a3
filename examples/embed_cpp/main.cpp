// Tenon in a C++ program: fits a line to points by gradient descent, on any device.
// usage: embed_cpp [DEVICE [PLUGIN...]]      for example: embed_cpp cpu, embed_cpp auto ./my_backend.so
#include <cstdio>
#include <iostream>
#include <tenon/nn.hpp>
#include <tenon/optim.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

void show_plugins() {
  for (const PluginInfo& plugin : plugins()) {
    const bool loaded = plugin.state == PluginInfo::State::Loaded;
    std::cout << "plugin " << (plugin.id.empty() ? plugin.path : plugin.id) << ": "
              << (loaded ? "" : "refused: ") << (loaded ? plugin.version : plugin.reason) << "\n";
  }
}

// y = 2 x - 1 at 64 points of [-1, 1]; the fitted line has that weight and bias.
void fit(Device device) {
  const Tensor x = linspace(-1, 1, 64).reshape({64, 1}).to(device);
  const Tensor y = 2 * x - 1;
  nn::Linear line(1, 1);
  line.to(device);
  optim::SGD optimizer(line.parameters(), {.lr = 0.2, .momentum = 0.5});
  Tensor loss;
  for (int step = 0; step < 200; ++step) {
    loss = mse_loss(line(x), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  std::printf("loss %.4f weight %.3f bias %.3f\n", loss.item<double>(), line.weight->item<double>(),
              line.bias->item<double>());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    discover_plugins();
    for (int i = 2; i < argc; ++i) load_plugin(argv[i]);
    show_plugins();
    const Device device(argc > 1 ? argv[1] : "cpu");
    std::cout << "device " << device.id() << std::endl;
    fit(device);
    return 0;
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
