// tenon check: what its parts share. The parent plans, starts workers and reports; a worker is this program again, and runs
// units of one group.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tenon::tool {

// The command line.
struct CheckOptions {
  std::string plugin;  // as given: a path, or the id of a plugin that is found
  std::string device;
  std::vector<std::string> modes;
  std::string group, only, name;  // empty: all
  std::string sample;             // of the cases, as check_sample.hpp reads it; empty: all
  uint64_t seed = 1;
  uint32_t jobs = 1;
  double timeout = 120;  // seconds without a sign of life
  bool json = false;
};

// What a worker found out about the plugin, before any case runs.
struct CheckPlan {
  std::string path, id, version, abi, device, reason;
  std::vector<std::string> devices;
  uint64_t kernels = 0;
  std::vector<std::string> ops;                                   // all there are, for suggestions
  using Units = std::map<std::string, std::vector<std::string>>;  // by group
  Units units;
  std::map<std::string, Units>
      further;           // by device: what its kernels for other types of devices are tried on
  std::string refused;   // why it cannot be loaded
  bool missing = false;  // there is no such plugin
  std::vector<std::string> known;  // ids of those there are
};

struct CheckFailure {
  std::string group, unit, name, text;  // name is empty where no case had begun
  std::string device;                   // where it is not the plan's
};
struct CheckSkip {
  std::string group, reason, example;
  uint64_t count = 0;
};
struct CheckGroup {
  std::string name;
  uint64_t cases = 0, failed = 0, skipped = 0;
  double seconds = 0;
};
// One line of --mode perf. Rates are in `unit` a second; 0 where it did not run.
struct CheckFigure {
  std::string work, unit;
  double seconds = 0, rate = 0, host_rate = 0;
};

struct CheckReport {
  CheckPlan plan;
  std::vector<CheckGroup> groups;
  std::vector<CheckFailure> failures;
  std::vector<CheckSkip> skips;
  std::vector<CheckFigure> figures;
  std::map<std::string, uint64_t> counts;  // "injected", "survived"
  double seconds = 0;

  uint64_t cases() const;
  CheckGroup& group(const std::string& name);
  void add_skip(const std::string& group, const std::string& name, const std::string& reason);
};

// Units that one process runs.
struct CheckTask {
  std::string group;
  std::vector<std::string> units;
  std::string device;
};

// Sees a line on the terminal change; `done` of `total` units.
using CheckProgress = std::function<void(const CheckReport& report, uint64_t done, uint64_t total,
                                         const std::string& now)>;

// Runs a worker that plans. A crash or a hang there is a refusal.
CheckPlan make_plan(const CheckOptions& options);
// Runs tasks in up to options.jobs processes; a unit that crashes or hangs is a failure, and those after it get a new process.
void run_tasks(const CheckOptions& options, std::vector<CheckTask> tasks, CheckReport& report,
               const CheckProgress& progress);

void print_check(const CheckOptions& options, const CheckReport& report);
void print_check_json(const CheckOptions& options, const CheckReport& report);
// The command line that runs a failed case again.
std::string repeat_command(const CheckOptions& options, const CheckFailure& failure);

// The worker's side: `words` follow "check-worker". Results go to file descriptor 3.
int run_check_worker(const std::vector<std::string>& words);

// Works of --mode perf for the ops that are claimed, and their measurement.
std::vector<std::string> perf_units(const std::vector<std::string>& ops);
CheckFigure measure_perf(const std::string& unit, const std::string& device);

}  // namespace tenon::tool
