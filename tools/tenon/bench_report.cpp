// tenon bench: table, JSON and HTML.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench.hpp"
#include "command.hpp"

namespace tenon::tool {
namespace {

std::string format_rate(const Measurement& m, const Work& work) {
  return m.rate >= 100000 ? fmt::format("{:.2e} {}", m.rate, work.unit)
                          : fmt::format("{:.4g} {}", m.rate, work.unit);
}

// µ and ³ take more bytes than characters, so this pads to columns of characters.
size_t width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}
std::string pad(const std::string& text, size_t columns) {
  return text + std::string(columns > width(text) ? columns - width(text) : 1, ' ');
}

std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(TN_IO, fmt::format("cannot write {}", path));
}

std::string format_share(const Measurement& m) {
  return m.share > 0 ? fmt::format("{:.0f} %", 100 * m.share) : "–";
}

std::string format_peaks(const DeviceReport& device) {
  return fmt::format(
      "{} ({}): {:.1f} GB/s in copies, {:.4g} GFLOP/s in f32 products, {:.4g} in bf16", device.id,
      device.name, device.peaks.bytes / 1e9, device.peaks.f32 / 1e9, device.peaks.bf16 / 1e9);
}

// If devices differ a hundredfold, a logarithmic scale down to the slowest.
bool is_logarithmic(double slowest, double fastest) { return fastest > 100 * slowest; }

double percent_of_width(double rate, double slowest, double fastest) {
  if (rate <= 0) return 0;
  if (!is_logarithmic(slowest, fastest)) return 100 * rate / fastest;
  const double decades = std::ceil(std::log10(fastest / slowest)) + 1;
  return 100 * (1 - std::log10(fastest / rate) / decades);
}

// Bars of one work: longer is faster, relative to the fastest device.
std::string bars(const Row& row) {
  double best = 0, worst = HUGE_VAL;
  for (const Measurement& m : row.measurements) {
    best = std::max(best, m.rate);
    if (m.rate > 0) worst = std::min(worst, m.rate);
  }
  std::string text = is_logarithmic(worst, best) ? "<p class=scale>logarithmic scale</p>\n" : "";
  for (const Measurement& m : row.measurements) {
    std::string label = m.error.empty()
                            ? format_seconds(m.median) + " · " + format_rate(m, *row.work) +
                                  (m.share > 0 ? " · " + format_share(m) + " of its peak" : "")
                            : m.error;
    text += fmt::format(
        "<div class=bar><span class=device>{}</span><span class=track><span class=fill "
        "style=\"width:{:.1f}%\"></span></span>"
        "<span>{}{}</span></div>\n",
        escape(m.device), percent_of_width(m.rate, worst, best), escape(label),
        m.agrees ? "" : " <b>results differ</b>");
  }
  return text;
}

constexpr const char* kStyle =
    "body{font:15px system-ui;margin:2em "
    "auto;max-width:60em;color:#222}h2{font-size:1em;margin:1.4em 0 .3em}"
    ".bar{display:grid;grid-template-columns:8em 1fr 18em;gap:1em;align-items:center;margin:.2em 0}"
    ".scale{margin:0;color:#777}"
    ".track{background:#eee;height:1em}.fill{display:block;background:#3b7dd8;height:1em}";

}  // namespace

std::string format_seconds(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.2f} µs", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

void print_rows(const Report& report) {
  fmt::print("{}{}{}{}{}{}{}\n", pad("WORK", 40), pad("DEVICE", 12), pad("MEDIAN", 12),
             pad("LOW … HIGH", 26), pad("RATE", 20), pad("OF PEAK", 9), "RESULTS");
  for (const Row& row : report.rows)
    for (const Measurement& m : row.measurements) {
      if (!m.error.empty()) {
        fmt::print("{}{}{}\n", pad(row.work->name, 40), pad(m.device, 12), m.error);
        continue;
      }
      std::string agreement = row.measurements.size() == 1 ? "one device"
                              : m.agrees ? fmt::format("agree ({:.0e})", m.difference)
                                         : fmt::format("DIFFER ({:.0e})", m.difference);
      fmt::print("{}{}{}{}{}{}{}\n", pad(row.work->name, 40), pad(m.device, 12),
                 pad(format_seconds(m.median), 12),
                 pad(format_seconds(m.low) + " … " + format_seconds(m.high), 26),
                 pad(format_rate(m, *row.work), 20), pad(format_share(m), 9), agreement);
    }
}

void print_report(const Report& report) {
  print_rows(report);
  fmt::print("\npeaks measured on {}:\n", report.machine);
  for (const DeviceReport& device : report.devices) fmt::print("  {}\n", format_peaks(device));
}

std::string json_of(const Report& report) {
  nlohmann::ordered_json run = {{"machine", report.machine}};
  for (const DeviceReport& device : report.devices)
    run["devices"].push_back({{"device", device.id},
                              {"name", device.name},
                              {"copy_bytes_per_s", device.peaks.bytes},
                              {"f32_flop_per_s", device.peaks.f32},
                              {"bf16_flop_per_s", device.peaks.bf16}});
  for (const Row& row : report.rows)
    for (const Measurement& m : row.measurements)
      run["works"].push_back({{"work", row.work->name},
                              {"device", m.device},
                              {"median_s", m.median},
                              {"seconds", m.seconds},
                              {"rate", m.rate},
                              {"unit", row.work->unit},
                              {"share_of_peak", m.share},
                              {"difference", m.difference},
                              {"agrees", m.agrees},
                              {"error", m.error}});
  return run.dump(2) + "\n";
}

void write_json(const Report& report, const std::string& path) {
  write_file(path, json_of(report));
}

void write_html(const Report& report, const std::string& path) {
  std::string page = fmt::format(
      "<!doctype html><meta charset=utf-8><title>tenon bench</title><style>{}</style>\n<h1>tenon "
      "bench</h1>\n"
      "<p>Longer is faster, relative to the fastest device of each work. Medians of the "
      "rounds on {}.</p>\n",
      kStyle, escape(report.machine));
  for (const DeviceReport& device : report.devices)
    page += fmt::format("<p>{}</p>\n", escape(format_peaks(device)));
  for (const Row& row : report.rows)
    page += fmt::format("<h2>{}</h2>\n{}", escape(row.work->name), bars(row));
  write_file(path, page);
}

}  // namespace tenon::tool
