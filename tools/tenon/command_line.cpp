// The command line of one command: its options, its help, and the program's exit status.
#include <fmt/core.h>

#include <cstdio>

#include "command.hpp"
#include "tenon/tenon.hpp"

namespace tenon::tool {
namespace {

void print_command_help(const Command& command) {
  fmt::print("tenon {}: {}\n\nexamples:\n{}\noptions:\n", command.name, command.summary,
             command.examples);
  for (const auto& option : command.options.options())
    fmt::print("  {:<22} {}\n", option->format_name() + " " + option->format_parameter(),
               option->description());
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const auto& option : command.options.options()) names.push_back("--" + option->long_name());
  return names;
}

}  // namespace

int run_command(const Command& command, const std::vector<std::string>& words) {
  po::variables_map given;
  try {
    using namespace po::command_line_style;
    // Abbreviations would turn typing errors into other options.
    auto parsed = po::command_line_parser(words)
                      .options(command.options)
                      .positional(command.positional)
                      .style(unix_style & ~allow_guessing)
                      .run();
    po::store(parsed, given);
    if (given.contains("help")) {
      print_command_help(command);
      return kOk;
    }
    po::notify(given);
  } catch (const po::unknown_option& error) {
    std::string name = error.get_option_name();
    throw UsageError(fmt::format("unknown option '{}'{} (tenon {} --help lists them)", name,
                                 suggestion(name, option_names(command)), command.name));
  } catch (const po::too_many_positional_options_error&) {
    throw UsageError(fmt::format("too many arguments; see tenon {} --help", command.name));
  } catch (const po::error& error) {
    throw UsageError(fmt::format("{}; see tenon {} --help", error.what(), command.name));
  }
  return command.run(given);
}

int exit_status(const std::function<int()>& program) {
  try {
    return program();
  } catch (const UsageError& error) {
    fmt::print(stderr, "tenon: {}\n", error.what());
    return kUsage;
  } catch (const tenon::Error& error) {
    fmt::print(stderr, "tenon: {}\n", error.what());
    return error.code() == TN_NOT_FOUND ? kMissing : kFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenon: {}\n", error.what());
    return kFailed;
  }
}

}  // namespace tenon::tool
