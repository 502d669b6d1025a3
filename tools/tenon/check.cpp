// tenon check: runs the conformance suite on one plugin.
#include "check.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "check_sample.hpp"
#include "command.hpp"
#include "suite.hpp"

namespace tenon::tool {
namespace {

const std::vector<std::string> kModes = {"test", "grad", "support", "perf"};

std::vector<std::string> group_names() {
  std::vector<std::string> names;
  for (const conformance::Group& group : conformance::groups()) names.emplace_back(group.name);
  names.emplace_back("perf");
  return names;
}

std::string text(const po::variables_map& given, const char* name) {
  return given.contains(name) ? given[name].as<std::string>() : std::string();
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= list.size();) {
    const size_t end = std::min(list.find(',', start), list.size());
    if (end > start) parts.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

CheckOptions parse(const po::variables_map& given) {
  CheckOptions options;
  options.plugin = text(given, "plugin");
  options.device = text(given, "device");
  options.modes = split(text(given, "mode"));
  options.group = text(given, "group");
  options.only = text(given, "only");
  options.name = text(given, "case");
  options.sample = text(given, "sample");
  (void)Sample(options.sample);  // reports a wrong one
  options.json = given["json"].as<bool>();
  options.seed = given["seed"].as<uint64_t>();
  options.timeout = given["timeout"].as<double>();
  const int jobs = given["jobs"].as<int>();
  for (const std::string& mode : options.modes)
    if (std::find(kModes.begin(), kModes.end(), mode) == kModes.end())
      throw UsageError(fmt::format("unknown mode '{}'{} (test, grad, support, perf)", mode,
                                   suggestion(mode, kModes)));
  if (options.modes.empty()) throw UsageError("--mode names no mode");
  const auto groups = group_names();
  if (!options.group.empty() &&
      std::find(groups.begin(), groups.end(), options.group) == groups.end())
    throw UsageError(fmt::format("unknown group '{}'{} (tenon check --list shows them)",
                                 options.group, suggestion(options.group, groups)));
  if (jobs < 1) throw UsageError("--jobs must be at least 1");
  if (!(options.timeout > 0)) throw UsageError("--timeout must be above 0 seconds");
  options.jobs = static_cast<uint32_t>(jobs);
  return options;
}

bool wanted(const CheckOptions& options, std::string_view group, std::string_view mode) {
  if (!options.group.empty()) return options.group == group;
  return std::find(options.modes.begin(), options.modes.end(), mode) != options.modes.end();
}

// The units of a group that the options select.
std::vector<std::string> chosen_units(const CheckOptions& options, const CheckPlan::Units& from,
                                      const std::string& group, bool by_op) {
  std::vector<std::string> units;
  const auto found = from.find(group);
  if (found == from.end()) return units;
  for (const std::string& unit : found->second) {
    // Works of perf begin with the op's name: "matmul 256".
    const bool named = options.only.empty() || unit == options.only ||
                       (group == "perf" && unit.starts_with(options.only + " "));
    // An op's cases begin with its name.
    const bool holds = !by_op || options.name.empty() || options.name == unit ||
                       options.name.starts_with(unit + "/");
    if (named && holds) units.push_back(unit);
  }
  return units;
}

void add_tasks(const CheckOptions& options, const std::string& group, const std::string& device,
               std::vector<std::string> units, std::vector<CheckTask>& tasks) {
  if (units.empty()) return;
  const size_t pieces = options.jobs == 1 ? 1 : size_t{options.jobs} * 4;
  const size_t size = (units.size() + pieces - 1) / pieces;
  for (size_t start = 0; start < units.size(); start += size)
    tasks.push_back(
        {group,
         {units.begin() + static_cast<std::ptrdiff_t>(start),
          units.begin() + static_cast<std::ptrdiff_t>(std::min(start + size, units.size()))},
         device});
}

std::vector<CheckTask> make_tasks(const CheckOptions& options, CheckReport& report) {
  std::vector<CheckTask> tasks;
  const CheckPlan& plan = report.plan;
  for (const conformance::Group& group : conformance::groups()) {
    const std::string name(group.name);
    if (!wanted(options, group.name, group.mode)) continue;
    if (plan.device.empty() && group.by_op) {
      if (options.only.empty())
        report.add_skip(name, "all of it", "the plugin has neither a device nor a kernel for one");
      continue;
    }
    add_tasks(options, name, plan.device, chosen_units(options, plan.units, name, group.by_op),
              tasks);
    for (const auto& [device, units] : plan.further)
      add_tasks(options, name, device, chosen_units(options, units, name, group.by_op), tasks);
  }
  if (wanted(options, "perf", "perf"))
    add_tasks(options, "perf", plan.device, chosen_units(options, plan.units, "perf", false),
              tasks);
  return tasks;
}

// --only must name an op, or a unit of the requested group.
void check_only(const CheckOptions& options, const CheckPlan& plan) {
  if (options.only.empty()) return;
  std::vector<std::string> names = plan.ops;
  for (const auto& [group, units] : plan.units)
    if (options.group.empty() || group == options.group)
      names.insert(names.end(), units.begin(), units.end());
  if (std::find(names.begin(), names.end(), options.only) != names.end()) return;
  throw Error(TN_NOT_FOUND, fmt::format("no op '{}'{} (tenon ops lists them)", options.only,
                                        suggestion(options.only, names)));
}

int list_groups() {
  std::vector<std::vector<std::string>> rows = {{"GROUP", "MODE", "WHAT IT CHECKS"}};
  for (const conformance::Group& group : conformance::groups())
    rows.push_back({std::string(group.name), std::string(group.mode), std::string(group.summary)});
  rows.push_back({"perf", "perf", "the median time of its kernels, beside the host's"});
  print_table(rows);
  return kOk;
}

CheckProgress progress_line() {
  if (isatty(2) == 0) return [](const CheckReport&, uint64_t, uint64_t, const std::string&) {};
  return [](const CheckReport& report, uint64_t done, uint64_t total, const std::string& now) {
    fmt::print(stderr, "\r\033[K[{}/{}] {} cases, {} failed: {}", done, total, report.cases(),
               report.failures.size(), now);
    std::fflush(stderr);
  };
}

// A plugin that does not load has failed; nothing more can be tried.
void note_refusal(CheckReport& report) {
  CheckGroup& group = report.group("load");
  group.cases = group.failed = 1;
  report.failures.push_back({"load", "load", "", report.plan.refused, ""});
}

int check(const CheckOptions& options) {
  CheckReport report;
  report.plan = make_plan(options);
  if (report.plan.missing)
    throw Error(TN_NOT_FOUND,
                fmt::format("no plugin '{}'{}: give a library, a card, or the id of a plugin that "
                            "`tenon devices` lists",
                            options.plugin, suggestion(options.plugin, report.plan.known)));
  if (!report.plan.refused.empty()) {
    note_refusal(report);
  } else {
    check_only(options, report.plan);
    report.group("load").cases = 1;
    std::vector<CheckTask> tasks = make_tasks(options, report);
    run_tasks(options, std::move(tasks), report, progress_line());
    if (isatty(2) != 0) fmt::print(stderr, "\r\033[K");
    if (report.cases() == 1 && report.skips.empty() && report.figures.empty())
      throw Error(TN_NOT_FOUND,
                  "no case matches --group, --only and --case (on a device that is not its own, a "
                  "plugin is tried with the ops that it has kernels for)");
  }
  if (options.json)
    print_check_json(options, report);
  else
    print_check(options, report);
  return report.failures.empty() ? kOk : kFailed;
}

int run(const po::variables_map& given) {
  if (given["list"].as<bool>()) return list_groups();
  if (!given.contains("plugin"))
    throw UsageError("check needs a plugin: a library, a card, or an id (tenon check --help)");
  return check(parse(given));
}

}  // namespace

Command check_command() {
  Command command{"check",
                  kCheckSummary,
                  "  tenon check ./build/tenon_mine.so\n"
                  "  tenon check cpu --only softmax\n"
                  "  tenon check ./tenon_mine.so --group memory --case mine:0/fill\n"
                  "  tenon check ./tenon_mine.so --mode perf\n"
                  "  tenon check ./tenon_mine.so --json > report.json\n"
                  "exit codes: 0 all passed, 1 something failed, 2 wrong command line, 3 no such "
                  "plugin, op or case\n",
                  {},
                  {},
                  &run};
  command.options.add_options()("help,h", "show this help")(
      "plugin", po::value<std::string>(), "a library, an identity card, or a plugin's id")(
      "mode", po::value<std::string>()->default_value("test,grad,support"),
      "what to run: test, grad, support, perf")("group", po::value<std::string>(),
                                                "one of the groups that --list shows")(
      "only", po::value<std::string>(), "one op, in the groups that test ops")(
      "case", po::value<std::string>(), "one case, or those below it: softmax/rows/f32")(
      "sample", po::value<std::string>(),
      "test one in K pairs of op and dtype; K:SALT draws other ones (8:monday)")(
      "seed", po::value<uint64_t>()->default_value(1), "seed of the random numbers")(
      "device", po::value<std::string>(), "where ops run (default: the plugin's first)")(
      "jobs", po::value<int>()->default_value(1), "number of processes at once")(
      "timeout", po::value<double>()->default_value(120),
      "seconds of silence that count as a hang; three times that for a process's first case")(
      "json", po::bool_switch(), "machine-readable report on stdout")(
      "list", po::bool_switch(), "show the groups and what they check");
  command.positional.add("plugin", 1);
  return command;
}

}  // namespace tenon::tool
