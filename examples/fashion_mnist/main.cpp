// Trains a small convolutional network on Fashion-MNIST, saves it, loads it again and names some images.
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "fashion.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "tenon/io.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"

using namespace tenon;

namespace {

constexpr const char* kAbout =
    R"(Trains a small convolutional network on the images of Fashion-MNIST.

  fashion_mnist                           on the best device there is
  fashion_mnist --device cpu --epochs 1   a quick look
  fashion_mnist --seed 7 -o net.safetensors
  fashion_mnist --data ~/fashion-mnist    images from another folder (Debian: dataset-fashion-mnist)
)";

struct Net : nn::Module {
  nn::Conv2d conv1 = add("conv1", nn::Conv2d(1, 16, 3, {.padding = 1}));
  nn::Conv2d conv2 = add("conv2", nn::Conv2d(16, 32, 3, {.padding = 1}));
  nn::MaxPool pool = add("pool", nn::MaxPool(2));
  nn::Dropout dropout = add("dropout", nn::Dropout(0.1));
  nn::Linear hidden = add("hidden", nn::Linear(32 * 7 * 7, 128));
  nn::Linear out = add("out", nn::Linear(128, 10));

  Tensor forward(const Tensor& x) override {
    Tensor y = pool(conv1(x)).relu();
    y = pool(conv2(y)).relu().flatten(1);
    return out(dropout(hidden(y).relu()));
  }
};

double accuracy(Net& net, const data::Dataset& images, Device device) {
  NoGrad guard;
  net.eval();
  int64_t right = 0;
  data::DataLoader loader(images, {.batch_size = 500});
  for (data::Example& batch : loader) {
    const Tensor guess = net(fashion::normalise(batch[0].to(device))).argmax(1);
    right += (guess == batch[1].to(device)).sum().item<int64_t>();
  }
  net.train();
  return static_cast<double>(right) / static_cast<double>(images.size());
}

// One pass over the images; returns the mean loss of its second half.
double train_epoch(Net& net, data::DataLoader& loader, optim::Optimizer& optimizer,
                   optim::LRScheduler& schedule, Device device, Progress& progress) {
  double sum = 0;
  int64_t step = 0, images = 0, counted = 0;
  for (data::Example& batch : loader) {
    const Tensor loss =
        cross_entropy(net(fashion::normalise(batch[0].to(device))), batch[1].to(device));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    schedule.step();
    const double value = loss.item<double>();
    images += batch[0].shape(0);
    if (++step > loader.size() / 2) {
      sum += value;
      ++counted;
    }
    progress.update(step, images, value);
  }
  return sum / static_cast<double>(std::max<int64_t>(counted, 1));
}

void classify(Net& net, const fashion::Images& test, Device device) {
  NoGrad guard;
  net.eval();
  const int64_t count = 10;
  const Tensor some = test.pixels[{Slice(0, count), None}];
  const Tensor sure = net(fashion::normalise(some.to(device))).softmax(1).cpu();
  const Tensor guess = sure.argmax(1);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t g = guess[i].item<int64_t>(), truth = test.labels[i].item<int64_t>();
    std::cout << "  image " << i << ": " << std::left << std::setw(12)
              << fashion::names[static_cast<size_t>(g)] << std::right << std::setw(4)
              << std::lround(100 * sure[{i, g}].item<double>()) << " %"
              << (g == truth ? ""
                             : std::string("  (it is: ") +
                                   fashion::names[static_cast<size_t>(truth)] + ')')
              << '\n';
  }
}

void run(const Options& options) {
  const Device device = choose_device(options.device);
  manual_seed(options.seed);
  const fashion::Images train = fashion::load(options.data, "train"),
                        test = fashion::load(options.data, "t10k");
  const data::TensorDataset train_set({train.pixels.unsqueeze(1), train.labels});
  const data::TensorDataset test_set({test.pixels.unsqueeze(1), test.labels});
  std::cout << "data    " << train_set.size() << " images to learn from, " << test_set.size()
            << " to test with\n";

  Net net;
  net.to(device);
  std::cout << "network " << net.parameter_count() << " parameters" << std::endl;
  const double lr = options.lr > 0 ? options.lr : 5e-3;
  optim::AdamW optimizer(net.parameters(), {.lr = lr});
  data::DataLoader loader(train_set, {.batch_size = options.batch_size,
                                      .shuffle = true,
                                      .seed = options.seed,
                                      .workers = options.workers,
                                      .drop_last = true});
  optim::OneCycleLR schedule(optimizer, lr, std::max<int64_t>(options.epochs * loader.size(), 2));
  double seconds = 0;
  for (int64_t epoch = 1; epoch <= options.epochs; ++epoch) {
    double loss = 0;
    {
      Progress progress("epoch " + std::to_string(epoch) + '/' + std::to_string(options.epochs),
                        loader.size());
      loss = train_epoch(net, loader, optimizer, schedule, device, progress);
      device.synchronize();
      seconds += progress.seconds();
    }
    std::cout << "epoch " << epoch << ": loss " << std::fixed << std::setprecision(4) << loss
              << ", test accuracy " << std::setprecision(2) << 100 * accuracy(net, test_set, device)
              << " %, " << std::setprecision(1) << seconds << " s of training" << std::endl;
  }

  io::save_safetensors(options.output, net.state_dict(),
                       {{"format", "tenon"}, {"network", "fashion_mnist"}});
  Net loaded;
  loaded.load_state_dict(io::load_safetensors(options.output).tensors);
  loaded.to(device);
  std::cout << "saved   " << options.output << " ("
            << std::filesystem::file_size(options.output) / 1024 << " KiB); loaded back it says:\n";
  classify(loaded, test, device);
}

}  // namespace

int main(int argc, char** argv) {
  int code = 0;
  const auto options =
      parse_options(argc, argv, {.output = "fashion_mnist.safetensors"}, kAbout, &code);
  if (!options) return code;
  try {
    run(*options);
  } catch (const std::exception& error) {
    std::cerr << "fashion_mnist: " << error.what() << '\n';
    return 1;
  }
}
