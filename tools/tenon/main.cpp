// The `tenon` command.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "command.hpp"
#include "tenon/tenon.hpp"

namespace tenon::tool {
namespace {

constexpr const char* kIntroduction =
    "tenon: look at devices, ops, plugins and graphs, and compare backends side by side\n"
    "\n"
    "usage: tenon COMMAND [options]     tenon COMMAND --help\n"
    "\n";

constexpr const char* kClosing =
    "\n"
    "examples:\n"
    "  tenon devices                       what is here, and what cannot be used\n"
    "  tenon explain softmax --device cpu  which kernel runs, and why\n"
    "  tenon bench --html bench.html       the same work on every device, with a chart\n"
    "  tenon graph net.safetensors         inputs, results and ops of a saved graph\n"
    "  tenon check ./tenon_mine.so         run the conformance suite over a plugin\n"
    "  tenon new-plugin acme               start your own backend\n"
    "\n"
    "Plugins are searched for in TENON_PLUGIN_PATH, the user's directory, next to libtenon, and "
    "the "
    "system's directory.\n"
    "exit codes: 0 success, 1 a device or check failed, or results disagree, 2 wrong command line, "
    "3 no such op, device or file\n";

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  commands.push_back(devices_command());
  commands.push_back(ops_command());
  commands.push_back(explain_command());
  commands.push_back(bench_command());
  commands.push_back(graph_command());
  commands.push_back(onnx_command());
  commands.push_back(new_plugin_command());
  return commands;
}

void print_help(const std::vector<Command>& commands) {
  std::fputs(kIntroduction, stdout);
  for (const Command& command : commands)
    fmt::print("  {:<11} {}\n", command.name, command.summary);
  fmt::print("  {:<11} {}\n", "check", kCheckSummary);
  std::fputs(kClosing, stdout);
}

// The conformance suite is a separate program beside this one, so that those who only run models need not build it.
int run_check(const std::vector<std::string>& words) {
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tenon-check";
  std::vector<std::string> line = {program.string()};
  line.insert(line.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : line) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  throw Error(TN_IO,
              fmt::format("cannot run {}: {} (in a build tree, ./dev build tenon-check makes it)",
                          program.string(), std::strerror(errno)));
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
  if (words[0] == "check") return run_check({words.begin() + 1, words.end()});
  std::vector<std::string> names = {"check"};
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
  return tenon::tool::exit_status([&] { return tenon::tool::run({argv + 1, argv + argc}); });
}
