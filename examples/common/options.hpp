// Parts that the example programs share: their options, and a report of plugins and the device.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include "tenon/tenon.hpp"

struct Options {
  std::string device = "auto";
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string output = "";
  int64_t epochs = 3;
  int64_t batch_size = 128;
  int64_t workers = 1;
  uint64_t seed = 1;
  double lr = 0;
};

// Empty if the program should end at once, with exit code *code.
inline std::optional<Options> parse_options(int argc, char** argv, Options defaults,
                                            const char* about, int* code) {
  namespace po = boost::program_options;
  Options o = defaults;
  po::options_description all("Options");
  auto add = all.add_options();
  add("help,h", "this text");
  add("device", po::value(&o.device)->value_name("NAME")->default_value(o.device),
      "auto, or one that `tenon devices` lists");
  add("data", po::value(&o.data)->value_name("DIR")->default_value(o.data),
      "folder of the four .gz files of Fashion-MNIST");
  add("epochs", po::value(&o.epochs)->value_name("N")->default_value(o.epochs),
      "how often all images are seen");
  add("batch-size", po::value(&o.batch_size)->value_name("N")->default_value(o.batch_size),
      "images in one step");
  add("lr", po::value(&o.lr)->value_name("RATE")->default_value(o.lr, "as fits"),
      "highest learning rate");
  add("seed", po::value(&o.seed)->value_name("N")->default_value(o.seed),
      "of weights, dropout and the order of images");
  add("workers", po::value(&o.workers)->value_name("N")->default_value(o.workers),
      "threads that prepare batches");
  if (!o.output.empty())
    add("output,o", po::value(&o.output)->value_name("FILE")->default_value(o.output),
        "where the weights are saved");
  try {
    po::variables_map given;
    po::store(po::command_line_parser(argc, argv).options(all).positional({}).run(), given);
    if (given.count("help") != 0) {
      std::cout << about << '\n' << all;
      *code = 0;
      return {};
    }
    po::notify(given);
  } catch (const po::error& error) {
    std::cerr << argv[0] << ": " << error.what() << "\nTry " << argv[0] << " --help\n";
    *code = 2;
    return {};
  }
  if (o.epochs < 1 || o.batch_size < 1 || o.workers < 0 || o.lr < 0) {
    std::cerr << argv[0]
              << ": epochs and batch-size must be at least 1, workers and lr not negative\n";
    *code = 2;
    return {};
  }
  return o;
}

// Prints which plugins were found, which device is used, and why.
inline tenon::Device choose_device(const std::string& name) {
  using State = tenon::PluginInfo::State;
  tenon::discover_plugins();
  for (const tenon::PluginInfo& plugin : tenon::plugins()) {
    std::cout << "plugin  " << plugin.id << ' ' << plugin.version << ": ";
    if (plugin.state == State::Loaded) {
      std::cout << plugin.kernels << " kernels, " << plugin.path;
      if (!plugin.reason.empty()) std::cout << " (" << plugin.reason << ')';
    } else {
      std::cout << (plugin.state == State::Refused ? "refused: " : "taken out: ") << plugin.reason;
    }
    std::cout << '\n';
  }
  std::string why;
  if (name != "auto") {
    const tenon::Device device(name);
    std::cout << "device  " << device.id() << " (" << tenon::detail::to_view(device.info().name)
              << "): asked for" << std::endl;
    return device;
  }
  const tenon::Device device = tenon::best_device(&why);
  std::cout << "device  " << why << std::endl;
  return device;
}
