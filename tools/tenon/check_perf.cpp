// tenon check --mode perf: compares kernels of the plugin with the host's at a few sizes.
#include <algorithm>
#include <cmath>

#include "bench.hpp"
#include "check.hpp"

namespace tenon::tool {
namespace {

struct PerfWork {
  std::string op;
  Work work;
};

Tensor random(IntList shape, Device device) {
  return uniform(shape, 0.5, 1.5, DType::F32).to(device);
}

// Ops over n floats; `passes` counts how often they cross memory.
PerfWork one_operand(const std::string& op, double passes, int64_t n,
                     Tensor (*call)(const Tensor&)) {
  const int64_t rows = n / 64;
  return {op,
          {op + " " + std::to_string(n), "GB/s", passes * 4 * static_cast<double>(n), 1e-3,
           [rows, call](Device device) {
             const Tensor x = random({rows, 64}, device);
             return [x, call] { return call(x); };
           }}};
}

PerfWork two_operands(const std::string& op, int64_t n,
                      Tensor (*call)(const Tensor&, const Tensor&)) {
  return {op,
          {op + " " + std::to_string(n), "GB/s", 3.0 * 4 * static_cast<double>(n), 1e-3,
           [n, call](Device device) {
             const Tensor x = random({n}, device), y = random({n}, device);
             return [x, y, call] { return call(x, y); };
           }}};
}

PerfWork product(int64_t n) {
  return {"matmul",
          {"matmul " + std::to_string(n), "GFLOP/s", 2 * std::pow(n, 3), 1e-2, [n](Device device) {
             const Tensor x = random({n, n}, device), y = random({n, n}, device);
             return [x, y] { return matmul(x, y); };
           }}};
}

PerfWork convolution(int64_t channels) {
  const double c = static_cast<double>(channels);
  return {"conv",
          {"conv 3x3 28x28 " + std::to_string(channels), "GFLOP/s", 2.0 * 4 * c * c * 9 * 28 * 28,
           1e-2, [channels](Device device) {
             const Tensor x = random({4, channels, 28, 28}, device),
                          w = random({channels, channels, 3, 3}, device);
             return [x, w] { return conv(x, w, {}, {1}, {1}); };
           }}};
}

std::vector<PerfWork> works() {
  std::vector<PerfWork> all;
  for (int64_t n : {int64_t{1} << 12, int64_t{1} << 18, int64_t{1} << 22}) {
    all.push_back(
        two_operands("add", n, [](const Tensor& x, const Tensor& y) { return add(x, y); }));
    all.push_back(
        two_operands("mul", n, [](const Tensor& x, const Tensor& y) { return mul(x, y); }));
    all.push_back(one_operand("exp", 2, n, [](const Tensor& x) { return exp(x); }));
    all.push_back(one_operand("relu", 2, n, [](const Tensor& x) { return relu(x); }));
    all.push_back(one_operand("gelu", 2, n, [](const Tensor& x) { return gelu(x); }));
    all.push_back(one_operand("sum", 1, n, [](const Tensor& x) { return sum(x); }));
    all.push_back(one_operand("softmax", 2, n, [](const Tensor& x) { return softmax(x, -1); }));
  }
  for (int64_t n : {64, 256, 1024}) all.push_back(product(n));
  for (int64_t channels : {16, 64}) all.push_back(convolution(channels));
  return all;
}

}  // namespace

std::vector<std::string> perf_units(const std::vector<std::string>& ops) {
  std::vector<std::string> names;
  for (const PerfWork& work : works())
    if (std::find(ops.begin(), ops.end(), work.op) != ops.end()) names.push_back(work.work.name);
  return names;
}

CheckFigure measure_perf(const std::string& unit, const std::string& device) {
  const Device host("cpu"), own(device);
  for (const PerfWork& work : works()) {
    if (work.work.name != unit) continue;
    // The host's own kernels have nothing to compare with.
    const std::vector<Device> on = own == host ? std::vector{own} : std::vector{own, host};
    const std::vector<Row> rows = measure({work.work}, on, 5);
    const Measurement& m = rows[0].measurements[0];
    if (!m.error.empty()) throw Error(TN_INTERNAL, m.error);
    const double beside = on.size() > 1 ? rows[0].measurements[1].rate : 0;
    return {unit, work.work.unit, m.median, m.rate, beside};
  }
  throw Error(TN_NOT_FOUND, "no work '" + unit + "'");
}

}  // namespace tenon::tool
