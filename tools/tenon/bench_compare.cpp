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
    if (row.at("work") != work || row.at("device") != device) continue;
    const auto seconds = row.at("seconds").get<std::vector<double>>();
    if (seconds.empty()) return false;
    const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
    found = {row.at("median_s").get<double>(), *low, *high};
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

void print_comparison(const Report& report, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(TN_IO, fmt::format("cannot read {}", path));
  std::vector<std::vector<std::string>> table = {{"WORK", "DEVICE", "THEN", "NOW", "SPEED", ""}};
  try {
    const Json run = Json::parse(file);
    if (run.at("machine") != report.machine)
      fmt::print("then on another machine: {}\n", run.at("machine").get<std::string>());
    for (const Row& row : report.rows)
      for (const Measurement& now : row.measurements) {
        Earlier then;
        if (now.error.empty() && find(run, row.work->name, now.device, then))
          table.push_back(line(row.work->name, now, then));
      }
  } catch (const Json::exception& error) {
    throw Error(TN_INVALID_ARGUMENT,
                fmt::format("{} is not what `tenon bench --json` writes: {}", path, error.what()));
  }
  if (table.size() == 1) {
    fmt::print("{} has none of these works on these devices\n", path);
    return;
  }
  print_table(table);
}

}  // namespace tenon::tool
