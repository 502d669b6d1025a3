// tenon bench --against: this run beside an earlier one.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench.hpp"
#include "command.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::json;

struct Earlier {
  double median, low, high;
};

// The figures of one work on one device, if the earlier run has them.
bool find(const Json& run, const std::string& work, const std::string& device, Earlier& found) {
  for (const Json& row : run.at("works")) {
    const auto seconds = row.at("seconds").get<std::vector<double>>();
    const double median = row.at("median_s").get<double>();
    if (row.at("work") != work || row.at("device") != device || seconds.empty()) continue;
    const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
    found = {median, *low, *high};
    return true;
  }
  return false;
}

std::vector<std::string> line(const std::string& work, const Measurement& now,
                              const Earlier& then) {
  const double ratio = then.median / now.median;
  const bool overlap = then.low <= now.high && now.low <= then.high;
  return {work,
          now.device,
          format_seconds(then.median),
          format_seconds(now.median),
          fmt::format("{:.2f}×", ratio),
          overlap     ? "within the spread"
          : ratio > 1 ? "faster"
                      : "slower"};
}

}  // namespace

std::string read_run(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(TN_IO, fmt::format("cannot read {}", path));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const Json run = Json::parse(text);
    static_cast<void>(run.at("machine").get<std::string>());
    Earlier found;
    find(run, "", "", found);
  } catch (const Json::exception& error) {
    throw Error(TN_INVALID_ARGUMENT,
                fmt::format("{} is not what `tenon bench --json` writes: {}", path, error.what()));
  }
  return text;
}

void print_comparison(const Report& report, const std::string& earlier) {
  const Json run = Json::parse(earlier);
  std::vector<std::vector<std::string>> table = {{"WORK", "DEVICE", "THEN", "NOW", "SPEED", ""}};
  for (const Row& row : report.rows)
    for (const Measurement& now : row.measurements) {
      Earlier then;
      if (now.error.empty() && find(run, row.work->name, now.device, then))
        table.push_back(line(row.work->name, now, then));
    }
  if (table.size() == 1) {
    fmt::print("the earlier run has none of these works on these devices\n");
    return;
  }
  if (run.at("machine") != report.machine)
    fmt::print("then on another machine: {}\n", run.at("machine").get<std::string>());
  print_table(table);
}

}  // namespace tenon::tool
