// tenon check: the report, for people and as JSON.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "check.hpp"
#include "command.hpp"
#include "tenon/tenon.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kShown = 12;  // failures in the text report; --json has them all

std::string quoted(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-:+=@,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return plain ? word : "'" + word + "'";
}

std::string indented(const std::string& text, const std::string& margin) {
  std::string out;
  for (char c : text) {
    out += c;
    if (c == '\n') out += margin;
  }
  return out;
}

std::string seconds(double s) {
  return s < 0.1 ? fmt::format("{:.0f} ms", s * 1000) : fmt::format("{:.1f} s", s);
}

std::string plural(uint64_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

void print_header(const CheckOptions& options, const CheckReport& report) {
  const CheckPlan& plan = report.plan;
  if (!plan.refused.empty()) {
    fmt::print("tenon check: {} · tenon {}\n\n", plan.path, TN_VERSION_STRING);
    return;
  }
  fmt::print("tenon check: {} {} · ABI {} · tenon {} · seed {}\n", plan.id, plan.version, plan.abi,
             TN_VERSION_STRING, options.seed);
  fmt::print("  {}\n", plan.path);
  std::string devices;
  for (const std::string& device : plan.devices) devices += (devices.empty() ? "" : ", ") + device;
  if (devices.empty())
    devices = plan.reason.empty() ? "no device of its own" : "no device: " + plan.reason;
  std::string where =
      plan.device.empty() ? "; nothing to run ops on" : "; ops run on " + plan.device;
  for (const auto& [device, units] : plan.further)
    where += ", those with a kernel for it on " + device;
  fmt::print("  {}, {}{}\n\n", plural(plan.kernels, "kernel"), devices, where);
}

void print_failures(const CheckOptions& options, const CheckReport& report) {
  for (size_t i = 0; i < std::min(report.failures.size(), kShown); ++i) {
    const CheckFailure& failure = report.failures[i];
    fmt::print("FAILED {}: {}\n  {}\n  repeat: {}\n\n", failure.group,
               failure.name.empty() ? failure.unit : failure.name, indented(failure.text, "  "),
               repeat_command(options, failure));
  }
  if (report.failures.size() > kShown)
    fmt::print("and {} more failures; --json lists them all\n\n", report.failures.size() - kShown);
}

void print_figures(const CheckReport& report) {
  if (report.figures.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"WORK", "MEDIAN", "RATE", "HOST", "RATIO"}};
  for (const CheckFigure& figure : report.figures)
    rows.push_back(
        {figure.work, fmt::format("{:.1f} us", figure.seconds * 1e6),
         fmt::format("{:.3g} {}", figure.rate, figure.unit),
         figure.host_rate > 0 ? fmt::format("{:.3g} {}", figure.host_rate, figure.unit) : "-",
         figure.host_rate > 0 ? fmt::format("{:.2f}", figure.rate / figure.host_rate) : "-"});
  print_table(rows);
  fmt::print("\n");
}

uint64_t total(const CheckReport& report, uint64_t CheckGroup::*field) {
  uint64_t sum = 0;
  for (const CheckGroup& group : report.groups) sum += group.*field;
  return sum;
}

}  // namespace

std::string repeat_command(const CheckOptions& options, const CheckFailure& failure) {
  std::string line = "tenon check " + quoted(options.plugin);
  const std::string& device = failure.device.empty() ? options.device : failure.device;
  if (!device.empty()) line += " --device " + quoted(device);
  line += " --group " + failure.group;
  const bool by_op = options.name.empty() && !failure.unit.empty() &&
                     (failure.name == failure.unit || failure.name.starts_with(failure.unit + "/"));
  if (by_op || failure.name.empty()) line += " --only " + quoted(failure.unit);
  if (!failure.name.empty() && failure.name != failure.unit)
    line += " --case " + quoted(failure.name);
  return line + fmt::format(" --seed {}", options.seed);
}

void print_check(const CheckOptions& options, const CheckReport& report) {
  print_header(options, report);
  print_failures(options, report);
  print_figures(report);
  for (const CheckGroup& group : report.groups) {
    std::string outcome = group.failed > 0  ? fmt::format("{} FAILED", group.failed)
                          : group.cases > 0 ? "ok"
                                            : "nothing ran";
    if (group.skipped > 0) outcome += fmt::format(", {} skipped", group.skipped);
    fmt::print("  {:<10} {:>6} {:<5}  {:>8}  {}\n", group.name, group.cases,
               group.cases == 1 ? "case" : "cases", seconds(group.seconds), outcome);
  }
  if (!report.skips.empty()) fmt::print("\nskipped:\n");
  for (const CheckSkip& skip : report.skips)
    fmt::print("  {}: {} ({}{})\n", skip.group, skip.reason, skip.example,
               skip.count > 1 ? fmt::format(" and {} more", skip.count - 1) : "");
  const uint64_t failed = total(report, &CheckGroup::failed);
  fmt::print("\n{}: {}, {} failed, {} skipped", failed > 0 ? "FAILED" : "passed",
             plural(report.cases(), "case"), failed, total(report, &CheckGroup::skipped));
  for (const auto& [what, n] : report.counts) fmt::print(", {} {}", n, what);
  fmt::print(", {}\n", seconds(report.seconds));
}

void print_check_json(const CheckOptions& options, const CheckReport& report) {
  const CheckPlan& plan = report.plan;
  const uint64_t failed = total(report, &CheckGroup::failed);
  Json json = {{"ok", failed == 0},
               {"plugin",
                {{"id", plan.id},
                 {"version", plan.version},
                 {"path", plan.path},
                 {"abi", plan.abi},
                 {"kernels", plan.kernels},
                 {"devices", plan.devices}}},
               {"device", plan.device},
               {"further_devices", Json::array()},
               {"tenon", TN_VERSION_STRING},
               {"seed", options.seed},
               {"modes", options.modes},
               {"cases", report.cases()},
               {"failed", failed},
               {"skipped", total(report, &CheckGroup::skipped)},
               {"injected", 0},
               {"survived", 0},
               {"seconds", report.seconds}};
  for (const auto& [what, n] : report.counts) json[what] = n;
  for (const auto& [device, units] : plan.further) json["further_devices"].push_back(device);
  json["groups"] = json["failures"] = json["skips"] = Json::array();
  for (const CheckGroup& group : report.groups)
    json["groups"].push_back({{"name", group.name},
                              {"cases", group.cases},
                              {"failed", group.failed},
                              {"skipped", group.skipped},
                              {"seconds", group.seconds}});
  for (const CheckFailure& failure : report.failures)
    json["failures"].push_back({{"group", failure.group},
                                {"case", failure.name.empty() ? failure.unit : failure.name},
                                {"text", failure.text},
                                {"repeat", repeat_command(options, failure)}});
  for (const CheckSkip& skip : report.skips)
    json["skips"].push_back({{"group", skip.group},
                             {"reason", skip.reason},
                             {"count", skip.count},
                             {"example", skip.example}});
  if (!report.figures.empty()) json["perf"] = Json::array();
  for (const CheckFigure& figure : report.figures)
    json["perf"].push_back({{"work", figure.work},
                            {"unit", figure.unit},
                            {"seconds", figure.seconds},
                            {"rate", figure.rate},
                            {"host_rate", figure.host_rate}});
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

uint64_t CheckReport::cases() const { return total(*this, &CheckGroup::cases); }

CheckGroup& CheckReport::group(const std::string& name) {
  for (CheckGroup& group : groups)
    if (group.name == name) return group;
  groups.push_back({name});
  return groups.back();
}

void CheckReport::add_skip(const std::string& in, const std::string& name,
                           const std::string& reason) {
  ++group(in).skipped;
  for (CheckSkip& skip : skips)
    if (skip.group == in && skip.reason == reason) {
      ++skip.count;
      return;
    }
  skips.push_back({in, reason, name, 1});
}

}  // namespace tenon::tool
