// tenon bench: the highest rates of a device, and the description of this machine.
#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "bench.hpp"

namespace tenon::tool {
namespace {

// Copies and products grow until one takes this long.
constexpr double kLongEnough = 0.03;

// The highest rate of work(size), for sizes from `least` to `most` in factors of `times`. 0 if the device fails.
template <class Make>
double highest_rate(const Device& device, int64_t least, int64_t most, int64_t times, Make&& work) {
  double best = 0;
  try {
    for (int64_t size = least; size <= most; size *= times) {
      const Work tried = work(size);
      const double seconds = quickest(tried, device);
      best = std::max(best, tried.amount / seconds);
      if (seconds > kLongEnough) break;
    }
  } catch (const Error&) {  // what it reached before still counts
  }
  return best;
}

Work copying(int64_t bytes) {
  return {"copy", "GB/s", 2.0 * static_cast<double>(bytes), 0, [bytes](Device device) {
            const Tensor x = zeros({bytes / 4}, DType::F32).to(device);
            return [x] { return x.clone(); };
          }};
}

Work multiplying(int64_t n, DType dtype) {
  const double count = static_cast<double>(n);
  return {"matmul", "GFLOP/s", 2 * count * count * count, 0, [n, dtype](Device device) {
            const Tensor x = uniform({n, n}, -1, 1, DType::F32).to(dtype).to(device);
            return [x] { return matmul(x, x); };
          }};
}

}  // namespace

double Peaks::of(const Work& work) const {
  if (work.unit == "GB/s") return bytes / 1e9;
  if (work.unit == "GFLOP/s") return (work.dtype == DType::BF16 ? bf16 : f32) / 1e9;
  return 0;
}

Peaks measure_peaks(const Device& device) {
  const auto products = [&](DType dtype) {
    return highest_rate(device, 256, 4096, 2, [&](int64_t n) { return multiplying(n, dtype); });
  };
  return {highest_rate(device, 4 << 20, 64 << 20, 4, copying), products(DType::F32),
          products(DType::BF16)};
}

std::string machine_name() {
  const tn_device_info host = Device("cpu").info();
  return fmt::format("{}, {} processors", detail::to_view(host.name),
                     std::thread::hardware_concurrency());
}

}  // namespace tenon::tool
