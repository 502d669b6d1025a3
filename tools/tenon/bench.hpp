// The same work on each device, timed side by side.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::tool {

// A piece of work. `prepare` makes its data on a device and returns what to time. Results are compared between devices.
struct Work {
  std::string name;
  std::string unit;  // of the rate: "GB/s", "GFLOP/s", "samples/s"
  double amount;     // bytes, operations or samples of one run
  double tolerance;  // relative difference between devices that is still agreement
  std::function<std::function<Tensor()>(Device)> prepare;
  DType dtype = DType::F32;  // of products
};

std::vector<Work> op_suite();
std::vector<Work> model_suite();

// What was measured of one work on one device.
struct Measurement {
  std::string device;
  std::vector<double> seconds;  // one a round
  double median = 0, low = 0, high = 0;
  double rate = 0;        // in the work's unit
  double share = 0;       // of the device's peak; 0: no peak limits such work
  double difference = 0;  // largest relative difference from the first device
  bool agrees = true;
  std::string error;  // why there is no figure
};

struct Row {
  const Work* work;
  std::vector<Measurement> measurements;  // in the order of the devices
};

// The highest rates reached on a device: bytes read and written per second in copies, operations per second in products.
struct Peaks {
  double bytes = 0, f32 = 0, bf16 = 0;
  // In the work's unit; 0 for work that neither limits.
  double of(const Work& work) const;
};

struct DeviceReport {
  std::string id, name;
  Peaks peaks;
};

struct Report {
  std::string machine;
  std::vector<DeviceReport> devices;
  std::vector<Row> rows;
};

// Runs each work on the devices in turn, round by round, so that drift of the machine affects all equally.
std::vector<Row> measure(const std::vector<Work>& works, const std::vector<Device>& devices,
                         uint32_t rounds);
// Seconds of the fastest of several runs on one device.
double quickest(const Work& work, const Device& device);
Peaks measure_peaks(const Device& device);
// "Model of processor, 8 processors"
std::string machine_name();

std::string format_seconds(double seconds);
void print_rows(const Report& report);
void print_report(const Report& report);  // and the devices' peaks
void write_json(const Report& report, const std::string& path);
// The same text.
std::string json_of(const Report& report);
void write_html(const Report& report, const std::string& path);

// Seconds of one work on one device in an earlier run; 0 if it failed.
struct Earlier {
  std::string work, device;
  double median = 0, low = 0, high = 0;
};
struct EarlierRun {
  std::string machine;
  std::vector<Earlier> works;
};
// Reads what write_json wrote to `path`. Throws Error if it is something else.
EarlierRun read_run(const std::string& path);
void print_comparison(const Report& report, const EarlierRun& earlier);

}  // namespace tenon::tool
