// tenon bench: the command.
#include "bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "command.hpp"

namespace tenon::tool {
namespace {

std::vector<Device> chosen_devices(const po::variables_map& given) {
  if (!given.contains("devices")) return devices();
  std::vector<Device> chosen;
  for (const std::string& names : given["devices"].as<std::vector<std::string>>()) {
    size_t start = 0;
    while (start <= names.size()) {
      size_t end = std::min(names.find(',', start), names.size());
      if (end > start) chosen.emplace_back(names.substr(start, end - start));
      start = end + 1;
    }
  }
  return chosen;
}

// The devices' peaks, and how much of them each measurement reached.
void add_peaks(Report& report, const std::vector<Device>& on) {
  for (const Device& device : on)
    report.devices.push_back({std::string(device.id()),
                              std::string(detail::to_view(device.info().name)),
                              measure_peaks(device)});
  for (Row& row : report.rows)
    for (size_t i = 0; i < on.size(); ++i) {
      const double peak = report.devices[i].peaks.of(*row.work);
      row.measurements[i].share = peak > 0 ? row.measurements[i].rate / peak : 0;
    }
}

int run(const po::variables_map& given) {
  std::string suite = given["suite"].as<std::string>();
  if (suite != "ops" && suite != "models" && suite != "all")
    throw UsageError(fmt::format("unknown suite '{}'{} (ops, models or all)", suite,
                                 suggestion(suite, {"ops", "models", "all"})));
  int rounds = given["rounds"].as<int>();
  if (rounds < 1) throw UsageError("--rounds must be at least 1");
  std::vector<Device> on = chosen_devices(given);
  std::vector<Work> works = suite == "models" ? model_suite() : op_suite();
  if (suite == "all")
    for (Work& work : model_suite()) works.push_back(std::move(work));
  // Checked before anything is measured in vain.
  std::optional<EarlierRun> earlier;
  if (given.contains("against")) earlier = read_run(given["against"].as<std::string>());
  Report report{machine_name(), {}, measure(works, on, static_cast<uint32_t>(rounds))};
  add_peaks(report, on);
  print_report(report);
  if (earlier) print_comparison(report, *earlier);
  if (given.contains("json")) write_json(report, given["json"].as<std::string>());
  if (given.contains("html")) write_html(report, given["html"].as<std::string>());
  bool good = std::all_of(report.rows.begin(), report.rows.end(), [](const Row& row) {
    return std::all_of(row.measurements.begin(), row.measurements.end(),
                       [](const Measurement& m) { return m.agrees; });
  });
  return good ? kOk : kFailed;
}

}  // namespace

Command bench_command() {
  Command command{"bench",
                  "compare devices side by side on the same work",
                  "  tenon bench\n"
                  "  tenon bench --devices cpu --suite models\n"
                  "  tenon bench --json bench.json --html bench.html\n"
                  "  tenon bench --against bench.json\n",
                  {},
                  {},
                  &run};
  command.options.add_options()("help,h", "show this help")(
      "devices", po::value<std::vector<std::string>>()->composing(),
      "devices, separated by commas (default: all)")(
      "suite", po::value<std::string>()->default_value("all"), "ops, models or all")(
      "rounds", po::value<int>()->default_value(7),
      "rounds of each measurement; the report shows medians")(
      "json", po::value<std::string>(), "write the figures of every round to a file")(
      "html", po::value<std::string>(), "write a page with a chart")(
      "against", po::value<std::string>(), "also compare with an earlier run's --json file");
  return command;
}

}  // namespace tenon::tool
