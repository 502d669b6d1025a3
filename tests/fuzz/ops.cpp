// Calls every op with operands that are empty, of rank 0, huge, overlapping, unaligned or read-only, in memory between forbidden pages, and
// with numbers at the edges of their ranges: plain, recorded, and into given results. Calls come from the op's samples and its schema, so
// new ops are covered without a change here.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "children.hpp"

namespace {

using namespace tenon::fuzz;

constexpr const char* kUsage =
    "usage: fuzz_ops [--op NAME] [--seed S] [--calls N] [--seconds N] [--jobs N] [--first N] "
    "[--here]\n"
    "  --op NAME    only this op (default: all)\n"
    "  --seed S     of all that is drawn (default 1)\n"
    "  --calls N    of each op in a round (default 300)\n"
    "  --seconds N  rounds for so long (default: one round)\n"
    "  --jobs N     processes at once (default 1)\n"
    "  --first N    number of the first call (default 0)\n"
    "  --here       in this process, for a debugger; needs --op\n"
    "example: fuzz_ops --op gather --seed 7 --seconds 10\n";

[[noreturn]] void usage(const char* problem) {
  std::fprintf(stderr, "error: %s\n%s", problem, kUsage);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    }
    if (word == "--here") {
      options.here = true;
      continue;
    }
    if (i + 1 == argc) usage("an option without its value, or none at all");
    const char* value = argv[++i];
    const auto number = static_cast<uint64_t>(std::strtoull(value, nullptr, 10));
    if (word == "--op")
      options.op = value;
    else if (word == "--seed")
      options.seed = number;
    else if (word == "--calls")
      options.calls = number;
    else if (word == "--seconds")
      options.seconds = static_cast<int64_t>(number);
    else if (word == "--jobs")
      options.jobs = static_cast<unsigned>(std::clamp<uint64_t>(number, 1, 256));
    else if (word == "--first")
      options.first = number;
    else
      usage("no such option");
  }
  if (options.here && options.op.empty()) usage("--here needs --op");
  return options;
}

void print_progress(const Totals& totals, uint64_t rounds) {
  std::fprintf(
      stderr,
      "%llu rounds: %llu calls (%llu answered, %llu refused, %llu gradients, %llu too huge to wait "
      "for), %llu found\n",
      static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(totals.counts.calls),
      static_cast<unsigned long long>(totals.counts.answered),
      static_cast<unsigned long long>(totals.counts.refused),
      static_cast<unsigned long long>(totals.counts.backward),
      static_cast<unsigned long long>(totals.cut), static_cast<unsigned long long>(totals.found));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  setenv("OMP_NUM_THREADS", "1", 0);  // the processes share the cores
  std::vector<Signature> signatures = all_signatures();
  if (!options.op.empty())
    std::erase_if(signatures, [&](const Signature& s) { return s.op != options.op; });
  if (signatures.empty()) usage("no op of that name");
  Totals totals;
  if (options.here) {
    run_here(signatures[0], options, totals);
    print_progress(totals, 1);
    return totals.found != 0;
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  uint64_t rounds = 0;
  do {
    run_round(signatures, options, options.first + rounds++ * options.calls, totals);
    print_progress(totals, rounds);
  } while (std::chrono::steady_clock::now() < until);
  return totals.found != 0;
}
