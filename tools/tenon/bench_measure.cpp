// tenon bench, tenon check --mode perf: measuring.
#include "bench.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tenon::tool {
namespace {

using Clock = std::chrono::steady_clock;
// Long enough that the clock's resolution and the first call do not matter.
constexpr double kRoundSeconds = 0.02;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A line on stderr that is overwritten, if somebody is watching.
class Progress {
 public:
  explicit Progress(size_t total) : total_(total), shown_(isatty(2) != 0) {}
  void step(std::string_view what) {
    ++done_;
    if (!shown_) return;
    size_t filled = total_ == 0 ? 0 : 30 * done_ / total_;
    fmt::print(stderr, "\r\033[K[{:-<30}] {}/{} {}", std::string(filled, '#'), done_, total_, what);
    std::fflush(stderr);
  }
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  size_t total_, done_ = 0;
  bool shown_;
};

struct Candidate {
  Device device;
  std::function<Tensor()> run;
  uint64_t repeats = 1;
};

double time_round(Candidate& candidate) {
  auto start = Clock::now();
  for (uint64_t i = 0; i < candidate.repeats; ++i) candidate.run();
  candidate.device.synchronize();
  return since(start) / static_cast<double>(candidate.repeats);
}

// The number of repeats that fill a round, found by doubling; also warms up caches and plans.
void calibrate(Candidate& candidate) {
  candidate.repeats = 1;
  while (time_round(candidate) * static_cast<double>(candidate.repeats) < kRoundSeconds &&
         candidate.repeats < (1u << 20))
    candidate.repeats *= 2;
}

std::vector<double> on_host(const Tensor& result) {
  return result.to(DType::F64).to(Device("cpu")).contiguous().flatten().to_vector<double>();
}

// Largest difference, relative to the largest magnitude of the reference.
double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double scale = 0, difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return INFINITY;
    if (std::isnan(a[i]) || a[i] == b[i]) continue;
    scale = std::max(scale, std::abs(a[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  return difference == 0 ? 0 : scale == 0 ? INFINITY : difference / scale;
}

void summarize(Measurement& m, const Work& work) {
  if (m.seconds.empty()) return;
  std::sort(m.seconds.begin(), m.seconds.end());
  size_t n = m.seconds.size();
  m.median = n % 2 == 1 ? m.seconds[n / 2] : (m.seconds[n / 2 - 1] + m.seconds[n / 2]) / 2;
  m.low = m.seconds.front();
  m.high = m.seconds.back();
  double scale = work.unit.starts_with("G") ? 1e9 : 1;
  m.rate = work.amount / m.median / scale;
}

Row measure_work(const Work& work, const std::vector<Device>& devices, uint32_t rounds) {
  Row row{&work, {}};
  std::vector<Candidate> candidates;
  std::vector<size_t> places;  // of each candidate in the row
  std::vector<double> reference;
  bool have_reference = false;
  for (const Device& device : devices) {
    Measurement& m = row.measurements.emplace_back();
    m.device = device.id();
    try {
      manual_seed(7);  // the same numbers on every device
      Candidate candidate{device, work.prepare(device), 1};
      std::vector<double> result = on_host(candidate.run());
      if (!have_reference) reference = result, have_reference = true;
      m.difference = relative_difference(reference, result);
      m.agrees = m.difference <= work.tolerance;
      calibrate(candidate);
      places.push_back(row.measurements.size() - 1);
      candidates.push_back(std::move(candidate));
    } catch (const Error& error) {
      m.error = error.what();
      m.agrees = false;
    }
  }
  for (uint32_t round = 0; round < rounds; ++round)
    for (size_t c = 0; c < candidates.size(); ++c)
      row.measurements[places[c]].seconds.push_back(time_round(candidates[c]));
  for (Measurement& m : row.measurements) summarize(m, work);
  return row;
}

}  // namespace

double quickest(const Work& work, const Device& device) {
  manual_seed(7);
  Candidate candidate{device, work.prepare(device), 1};
  calibrate(candidate);
  double best = time_round(candidate);
  for (int round = 0; round < 3; ++round) best = std::min(best, time_round(candidate));
  return best;
}

std::vector<Row> measure(const std::vector<Work>& works, const std::vector<Device>& devices,
                         uint32_t rounds) {
  Progress progress(works.size());
  std::vector<Row> rows;
  for (const Work& work : works) {
    progress.step(work.name);
    rows.push_back(measure_work(work, devices, rounds));
  }
  return rows;
}

}  // namespace tenon::tool
