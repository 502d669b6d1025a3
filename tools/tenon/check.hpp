// tenon check: declarations that its parts share. The parent plans, starts workers and reports; a worker is this program again and runs
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
  std::string plugin;  // as given: a path, or the id of an installed plugin
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
  std::vector<std::string> ops;                                   // all ops that exist, for
                                                                  // suggestions
  using Units = std::map<std::string, std::vector<std::string>>;  // by group
  Units units;
  std::map<std::string, Units>
      further;           // by device: what to try its kernels for other types of devices on
  std::string refused;   // why it cannot be loaded
  bool missing = false;  // no such plugin was found
  std::vector<std::string> known;  // ids of the plugins found
};

struct CheckFailure {
  std::string group, unit, name, text;  // name is empty if no case had begun
  std::string device;                   // if it differs from the plan's
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
// One line of --mode perf. Rates are in `unit` per second; 0 if it did not run.
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

// The units that one process runs.
struct CheckTask {
  std::string group;
  std::vector<std::string> units;
  std::string device;
};

// Called when the line on the terminal should change; `done` of `total` units.
using CheckProgress = std::function<void(const CheckReport& report, uint64_t done, uint64_t total,
                                         const std::string& now)>;

// Runs a worker that plans. If it crashes or hangs, the plugin is refused.
CheckPlan make_plan(const CheckOptions& options);
// Runs tasks in up to options.jobs processes. A unit that crashes or hangs counts as a failure, and a new process runs those after it.
void run_tasks(const CheckOptions& options, std::vector<CheckTask> tasks, CheckReport& report,
               const CheckProgress& progress);

void print_check(const CheckOptions& options, const CheckReport& report);
void print_check_json(const CheckOptions& options, const CheckReport& report);
// The command line that runs a failed case again.
std::string repeat_command(const CheckOptions& options, const CheckFailure& failure);

// A worker's exit code if its device is lost, so that a new process runs the units that follow.
constexpr int kLost = 4;

// The worker's side: `words` follow "check-worker". Results go to file descriptor 3.
int run_check_worker(const std::vector<std::string>& words);

// The works of --mode perf for the claimed ops, and their measurement.
std::vector<std::string> perf_units(const std::vector<std::string>& ops);
CheckFigure measure_perf(const std::string& unit, const std::string& device);

}  // namespace tenon::tool
