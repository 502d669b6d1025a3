// Declarations that the commands of `tenon` share: options, exit codes, errors that suggest the nearest name.
#pragma once

#include <boost/program_options.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::tool {

namespace po = boost::program_options;

// Exit codes, as --help states them.
constexpr int kOk = 0;       // did what was asked
constexpr int kFailed = 1;   // ran, but a device failed or results disagree
constexpr int kUsage = 2;    // the command line is wrong
constexpr int kMissing = 3;  // no op, device or file of that name

// A wrong command line; the message says what to do.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One command: its options, its examples, what it does.
struct Command {
  std::string_view name;
  std::string_view summary;   // one line
  std::string_view examples;  // shown by --help
  po::options_description options;
  po::positional_options_description positional;
  int (*run)(const po::variables_map& given);
};

Command devices_command();
Command ops_command();
Command explain_command();
Command bench_command();
Command graph_command();
Command onnx_command();
Command check_command();
Command new_plugin_command();

inline constexpr const char* kCheckSummary =
    "the conformance suite over one plugin, each group in a process of its own";

// Reads `words` as the command's arguments and runs it. Throws UsageError.
int run_command(const Command& command, const std::vector<std::string>& words);
// The exit status of a program; an exception's text goes to standard error.
int exit_status(const std::function<int()>& program);

// "; did you mean 'devices'?", or nothing if no candidate is close.
std::string suggestion(std::string_view wanted, const std::vector<std::string>& names);

// Rows of text, aligned in columns; the first row is the header.
void print_table(const std::vector<std::vector<std::string>>& rows);
// "1.5 GiB"
std::string format_bytes(double bytes);

}  // namespace tenon::tool
