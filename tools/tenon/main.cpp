// The `tenon` command.
#include <fmt/core.h>

#include <cstdio>

#include "check.hpp"
#include "command.hpp"
#include "tenon/tenon.hpp"

namespace tenon::tool {
namespace {

constexpr const char* kIntroduction =
    "tenon: look at devices, ops and plugins, and compare backends side by side\n"
    "\n"
    "usage: tenon COMMAND [options]     tenon COMMAND --help\n"
    "\n";

constexpr const char* kClosing =
    "\n"
    "examples:\n"
    "  tenon devices                       what was found, and why something was not\n"
    "  tenon explain softmax --device cpu  what would run, and why\n"
    "  tenon bench --html bench.html       the same work on every device, with a chart\n"
    "  tenon check ./tenon_mine.so         the conformance suite over a plugin\n"
    "  tenon new-plugin acme               a project for a backend of your own\n"
    "\n"
    "Plugins are looked for in TENON_PLUGIN_PATH, the user's directory, next to libtenon, and the "
    "system's directory.\n"
    "exit codes: 0 done, 1 a device or check failed, or results disagree, 2 wrong command line, "
    "3 no such op, device or file\n";

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  commands.push_back(devices_command());
  commands.push_back(ops_command());
  commands.push_back(explain_command());
  commands.push_back(bench_command());
  commands.push_back(check_command());
  commands.push_back(new_plugin_command());
  return commands;
}

void print_help(const std::vector<Command>& commands) {
  std::fputs(kIntroduction, stdout);
  for (const Command& command : commands)
    fmt::print("  {:<11} {}\n", command.name, command.summary);
  std::fputs(kClosing, stdout);
}

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

int run(const std::vector<std::string>& words) {
  std::vector<Command> commands = all_commands();
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help(commands);
    return words.empty() ? kUsage : kOk;
  }
  if (words[0] == "--version") {
    tn_str version{};
    tn_version(nullptr, nullptr, &version);
    fmt::print("tenon {}\n", detail::to_view(version));
    return kOk;
  }
  if (words[0] == "check-worker") return run_check_worker({words.begin() + 1, words.end()});
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (command.name == words[0]) return run_command(command, {words.begin() + 1, words.end()});
    names.emplace_back(command.name);
  }
  throw UsageError(fmt::format("unknown command '{}'{} (tenon --help lists them)", words[0],
                               suggestion(words[0], names)));
}

}  // namespace
}  // namespace tenon::tool

int main(int argc, char** argv) {
  using namespace tenon::tool;
  try {
    return run({argv + 1, argv + argc});
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
