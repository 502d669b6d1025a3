// Which device "auto" stands for.
#include "dispatch/best.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "dispatch/op.hpp"
#include "memory/allocator.hpp"
#include "memory/device.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

// By TN_DEVICE_KIND_…; higher is better. A GPU executed by the CPU is slower than the CPU.
struct Kind {
  const char* name;
  int rank;
};
constexpr Kind kKinds[] = {
    {"CPU", 1}, {"GPU", 4}, {"integrated GPU", 3}, {"software device", 0}, {"accelerator", 2}};
const Kind& kind_of(const Candidate& c) { return kKinds[c.info.kind < 5 ? c.info.kind : 4]; }

uint64_t free_of(const Candidate& c) { return c.info.memory_free + c.held; }
bool is_idle(const Candidate& c) { return free_of(c) >= c.info.memory_total / 2; }

auto key_of(const Candidate& c) {
  return std::tuple(c.computes, kind_of(c).rank, is_idle(c), c.info.peak_flops, free_of(c),
                    c.info.compute_units);
}

}  // namespace

std::string rank(std::span<Candidate> found) {
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return key_of(a) > key_of(b); });
  if (found.size() < 2) return "the only device";
  const Candidate &best = found[0], &next = found[1];
  if (best.computes != next.computes) return fmt::format("{} has no kernels of its own", next.id);
  if (best.info.kind != next.info.kind)
    return fmt::format("{} before {} ({})", kind_of(best).name, kind_of(next).name, next.id);
  if (is_idle(best) != is_idle(next))
    return fmt::format("{} is busy: {} free of {}", next.id, format_bytes(free_of(next)),
                       format_bytes(next.info.memory_total));
  if (best.info.peak_flops != next.info.peak_flops)
    return fmt::format("{:.1f} Tflop/s, {} has {:.1f}",
                       static_cast<double>(best.info.peak_flops) * 1e-12, next.id,
                       static_cast<double>(next.info.peak_flops) * 1e-12);
  if (free_of(best) != free_of(next))
    return fmt::format("more free memory than {} ({})", next.id, format_bytes(free_of(next)));
  return fmt::format("as good as {}, and first", next.id);
}

}  // namespace tenon::core

using namespace tenon::core;

tn_device* tn_device_best(tn_write_fn write, void* ctx) {
  tn_device* best = &host_device();
  tn_status_release(guarded([&] {
    std::vector<Candidate> found;
    for (tn_device* device : devices()) {
      Candidate candidate{
          device, device->id, {}, 0, device->is_host() || count_kernels(device->type->plugin) > 0};
      candidate.info.struct_size = sizeof candidate.info;
      tn_memory_stats memory{};
      device->allocator->stats(memory);
      candidate.held = memory.held;
      tn_status* status = tn_device_get_info(device, &candidate.info);
      // A device that cannot describe itself is not chosen.
      if (status == nullptr) found.push_back(candidate);
      tn_status_release(status);
    }
    if (found.empty()) return;
    const std::string reason = rank(found);
    best = found[0].device;
    if (write == nullptr) return;
    const tn_device_info& info = found[0].info;
    const std::string line =
        fmt::format("{} ({}, {} free of {}): {}\n", best->id, to_view(info.name),
                    format_bytes(info.memory_free), format_bytes(info.memory_total), reason);
    write(ctx, to_str(line));
  }));
  return best;
}
