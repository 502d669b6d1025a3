// tenon bench --against: compares this run with an earlier one.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench.hpp"
#include "command.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::json;

Earlier read_row(const Json& row) {
  const auto seconds = row.at("seconds").get<std::vector<double>>();
  Earlier earlier{row.at("work").get<std::string>(), row.at("device").get<std::string>(),
                  row.at("median_s").get<double>()};
  if (seconds.empty()) return earlier;
  const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
  earlier.low = *low;
  earlier.high = *high;
  return earlier;
}

std::vector<std::string> line(const Earlier& then, const Measurement& now) {
  const double ratio = then.median / now.median;
  const bool overlap = then.low <= now.high && now.low <= then.high;
  return {then.work,
          now.device,
          format_seconds(then.median),
          format_seconds(now.median),
          fmt::format("{:.2f}×", ratio),
          overlap     ? "within the spread"
          : ratio > 1 ? "faster"
                      : "slower"};
}

}  // namespace

EarlierRun read_run(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(TN_IO, fmt::format("cannot read {}", path));
  try {
    const Json json = Json::parse(file);
    EarlierRun run{json.at("machine").get<std::string>(), {}};
    for (const Json& row : json.at("works")) run.works.push_back(read_row(row));
    return run;
  } catch (const Json::exception& error) {
    throw Error(TN_INVALID_ARGUMENT,
                fmt::format("{} is not what `tenon bench --json` writes: {}", path, error.what()));
  }
}

void print_comparison(const Report& report, const EarlierRun& earlier) {
  std::vector<std::vector<std::string>> table = {{"WORK", "DEVICE", "THEN", "NOW", "SPEED", ""}};
  for (const Row& row : report.rows)
    for (const Measurement& now : row.measurements)
      for (const Earlier& then : earlier.works)
        if (now.error.empty() && then.median > 0 && then.work == row.work->name &&
            then.device == now.device)
          table.push_back(line(then, now));
  if (table.size() == 1) {
    fmt::print("the earlier run has none of these works on these devices\n");
    return;
  }
  if (earlier.machine != report.machine)
    fmt::print("then on another machine: {}\n", earlier.machine);
  print_table(table);
}

}  // namespace tenon::tool
