// The options of an example, held in one struct, and the figure that it reports at the end.
#pragma once

#include <algorithm>
#include <boost/program_options.hpp>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>

#include "tenon/tenon.hpp"

// Options that every example has.
struct CommonOptions {
  std::string device_name = "auto";
  uint64_t seed = 1;
  bool is_short = false;
  tenon::Device device{};  // made from device_name when the program runs
};

class Arguments {
 public:
  template <class T>
  void add(const char* name, T& value, const char* about) {
    all_.add_options()(name, boost::program_options::value(&value)->default_value(value), about);
  }
  void add_switch(const char* name, bool& value, const char* about) {
    all_.add_options()(name, boost::program_options::bool_switch(&value), about);
  }
  // An option whose name may be left out.
  template <class T>
  void add_positional(const char* name, T& value, const char* about) {
    add(name, value, about);
    positional_.add(name, 1);
  }

 private:
  template <class Options>
  friend int run_example(int, char**, const char*, int (*)(const Options&));
  boost::program_options::options_description all_{"Options"};
  boost::program_options::positional_options_description positional_;
};

// Parses the options and runs the example; returns the exit status. Options has declare(Arguments&), which changes defaults if is_short
// is set.
template <class Options>
int run_example(int argc, char** argv, const char* about, int (*run)(const Options&)) {
  namespace po = boost::program_options;
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  Options o;
  o.is_short = std::any_of(argv, argv + argc, [](std::string_view a) { return a == "--short"; });
  Arguments arguments;
  arguments.all_.add_options()("help,h", "this text")(
      "short", "seconds rather than minutes, with a lower aim: what the tests run");
  arguments.add("device", o.device_name, "auto, or one that `tenon devices` lists");
  arguments.add("seed", o.seed, "of weights and samples");
  o.declare(arguments);
  try {
    po::variables_map given;
    po::store(po::command_line_parser(argc, argv)
                  .options(arguments.all_)
                  .positional(arguments.positional_)
                  .run(),
              given);
    if (given.count("help") != 0) {
      std::cout << about << '\n' << arguments.all_;
      return 0;
    }
    po::notify(given);
  } catch (const po::error& error) {
    std::cerr << name << ": " << error.what() << "\nTry " << name << " --help\n";
    return 2;
  }
  try {
    o.device = o.device_name == "auto" ? tenon::best_device() : tenon::Device(o.device_name);
    tenon::manual_seed(o.seed);
    return run(o);
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return 1;
  }
}

// Prints what was reached beside the aim, as the last line of every example, and returns whether it was reached.
inline bool figure(const char* what, double value, double reach, bool at_most,
                   const char* unit = "") {
  const bool good = at_most ? value <= reach : value >= reach;
  std::cout << std::setprecision(4) << "figure: " << what << ' ' << value << unit << " ("
            << (at_most ? "at most " : "at least ") << reach << unit << ": "
            << (good ? "reached)" : "not reached)") << std::endl;
  return good;
}
