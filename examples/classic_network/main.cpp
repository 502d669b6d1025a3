// The classic network (a perceptron of three layers with ReLU between them) on eight kinds of clothing, 32×32 pixels.
#include <iomanip>
#include <iostream>

#include "fashion.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"

using namespace tenon;

namespace {

constexpr const char* kAbout =
    R"(Trains Flatten, Linear(1024, 256), ReLU, Linear(256, 256), ReLU, Linear(256, 8)
on the first eight classes of Fashion-MNIST.

  classic_network                          on the best device there is
  classic_network --batch-size 512 --lr 0.4
)";

// The first eight classes with a border of two pixels: (N, 1, 32, 32) floats, and labels.
data::TensorDataset eight_classes(const std::string& directory, const std::string& part) {
  const fashion::Images all = fashion::load(directory, part);
  const Tensor kept = nonzero(all.labels < 8).select(1, 0);
  const Tensor pixels = fashion::normalise(all.pixels.index_select(0, kept)).unsqueeze(1);
  return data::TensorDataset(
      {pad(pixels, {2, 2, 2, 2}, "constant", -0.2860 / 0.3530), all.labels.index_select(0, kept)});
}

double accuracy(nn::Module& net, const data::Dataset& images, Device device) {
  NoGrad guard;
  int64_t right = 0;
  data::DataLoader loader(images, {.batch_size = 1000});
  for (data::Example& batch : loader)
    right += (net(batch[0].to(device)).argmax(1) == batch[1].to(device)).sum().item<int64_t>();
  return static_cast<double>(right) / static_cast<double>(images.size());
}

void run(const Options& options) {
  const Device device = choose_device(options.device);
  manual_seed(options.seed);
  const data::TensorDataset train_set = eight_classes(options.data, "train");
  const data::TensorDataset test_set = eight_classes(options.data, "t10k");
  nn::Sequential net(nn::Flatten(), nn::Linear(32 * 32, 256), nn::ReLU(), nn::Linear(256, 256),
                     nn::ReLU(), nn::Linear(256, 8));
  net.to(device);
  std::cout << "network " << net << '\n'
            << train_set.size() << " images to learn from" << std::endl;

  const double lr = options.lr > 0 ? options.lr : 0.1;
  optim::SGD optimizer(net.parameters(), {.lr = lr});
  data::DataLoader loader(train_set, {.batch_size = options.batch_size,
                                      .shuffle = true,
                                      .seed = options.seed,
                                      .workers = options.workers});
  optim::CosineAnnealingLR schedule(optimizer, options.epochs * loader.size());
  for (int64_t epoch = 1; epoch <= options.epochs; ++epoch) {
    double recent = 0;
    {
      Progress progress("epoch " + std::to_string(epoch) + '/' + std::to_string(options.epochs),
                        loader.size());
      int64_t step = 0, images = 0;
      for (data::Example& batch : loader) {
        const Tensor loss = cross_entropy(net(batch[0].to(device)), batch[1].to(device));
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        schedule.step();
        images += batch[0].shape(0);
        progress.update(++step, images, loss.item<double>());
      }
      recent = progress.loss();
    }
    std::cout << "epoch " << epoch << ": loss " << std::fixed << std::setprecision(4) << recent
              << ", test accuracy " << std::setprecision(2) << 100 * accuracy(net, test_set, device)
              << " %" << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int code = 0;
  const auto options = parse_options(argc, argv, {.epochs = 5, .batch_size = 64}, kAbout, &code);
  if (!options) return code;
  try {
    run(*options);
  } catch (const std::exception& error) {
    std::cerr << "classic_network: " << error.what() << '\n';
    return 1;
  }
}
