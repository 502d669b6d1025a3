// The same work on each device, timed side by side.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::tool {

// One piece of work. `prepare` makes its data on a device and returns what is timed; the result is
// compared between devices.
struct Work {
  std::string name;
  std::string unit;  // of the rate: "GB/s", "GFLOP/s", "samples/s"
  double amount;     // bytes, operations or samples of one run
  double tolerance;  // relative difference between devices that is still agreement
  std::function<std::function<Tensor()>(Device)> prepare;
};

std::vector<Work> op_suite();
std::vector<Work> model_suite();

// What was measured of one work on one device.
struct Measurement {
  std::string device;
  std::vector<double> seconds;  // one a round
  double median = 0, low = 0, high = 0;
  double rate = 0;        // in the work's unit
  double difference = 0;  // largest relative difference from the first device
  bool agrees = true;
  std::string error;  // why there is no figure
};

struct Row {
  const Work* work;
  std::vector<Measurement> measurements;  // in the order of the devices
};

// Runs each work on the devices in turn, round by round, so that drift of the machine
// hits all alike.
std::vector<Row> measure(const std::vector<Work>& works, const std::vector<Device>& devices,
                         uint32_t rounds);

void print_report(const std::vector<Row>& rows);
void write_json(const std::vector<Row>& rows, const std::string& path);
void write_html(const std::vector<Row>& rows, const std::string& path);

}  // namespace tenon::tool
