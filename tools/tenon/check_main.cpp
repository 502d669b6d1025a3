// The program tenon-check, which `tenon check` runs: the conformance suite and its workers.
#include "check.hpp"
#include "command.hpp"

namespace tenon::tool {
namespace {

int run(const std::vector<std::string>& words) {
  if (!words.empty() && words[0] == "check-worker")
    return run_check_worker({words.begin() + 1, words.end()});
  return run_command(check_command(), words);
}

}  // namespace
}  // namespace tenon::tool

int main(int argc, char** argv) {
  return tenon::tool::exit_status([&] { return tenon::tool::run({argv + 1, argv + argc}); });
}
