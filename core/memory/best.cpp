// Which device "auto" stands for.
#include <algorithm>
#include <tuple>

#include "dispatch/op.hpp"
#include "memory/allocator.hpp"
#include "memory/device.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

struct Candidate {
  tn_device* device = nullptr;
  tn_device_info info{};
  bool computes =
      false;  // its plugin has kernels; without any, each op would be copied to the host and back
};

// Higher is better. A GPU executed by the CPU is slower than the CPU.
int rank_of(uint32_t kind) {
  switch (kind) {
    case TN_DEVICE_KIND_GPU:
      return 4;
    case TN_DEVICE_KIND_INTEGRATED_GPU:
      return 3;
    case TN_DEVICE_KIND_OTHER:
      return 2;
    case TN_DEVICE_KIND_CPU:
      return 1;
    default:
      return 0;
  }
}
const char* name_of(uint32_t kind) {
  switch (kind) {
    case TN_DEVICE_KIND_CPU:
      return "CPU";
    case TN_DEVICE_KIND_GPU:
      return "GPU";
    case TN_DEVICE_KIND_INTEGRATED_GPU:
      return "integrated GPU";
    case TN_DEVICE_KIND_SOFTWARE:
      return "software device";
    default:
      return "accelerator";
  }
}

auto key_of(const Candidate& candidate) {
  return std::tuple(candidate.computes, rank_of(candidate.info.kind), candidate.info.memory_free,
                    candidate.info.compute_units, candidate.info.memory_total);
}

std::string why(const Candidate& best, const Candidate* next) {
  if (next == nullptr) return "the only device";
  if (best.computes != next->computes)
    return fmt::format("{} has no kernels of its own", next->device->id);
  if (best.info.kind != next->info.kind)
    return fmt::format("{} before {} ({})", name_of(best.info.kind), name_of(next->info.kind),
                       next->device->id);
  if (best.info.memory_free != next->info.memory_free)
    return fmt::format("more free memory than {} ({})", next->device->id,
                       format_bytes(next->info.memory_free));
  return fmt::format("as good as {}, and first", next->device->id);
}

std::vector<Candidate> candidates() {
  std::vector<Candidate> found;
  for (tn_device* device : devices()) {
    Candidate candidate{device, {}, device->is_host() || count_kernels(device->type->plugin) > 0};
    candidate.info.struct_size = sizeof candidate.info;
    tn_status* status = tn_device_get_info(device, &candidate.info);
    if (status == nullptr)
      found.push_back(candidate);  // a device that cannot say what it is is not chosen
    tn_status_release(status);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return key_of(a) > key_of(b); });
  return found;
}

}  // namespace
}  // namespace tenon::core

using namespace tenon::core;

tn_device* tn_device_best(tn_write_fn write, void* ctx) {
  tn_device* best = &host_device();
  tn_status_release(guarded([&] {
    const std::vector<Candidate> found = candidates();
    if (found.empty()) return;
    const Candidate& first = found.front();
    best = first.device;
    if (write == nullptr) return;
    const std::string line =
        fmt::format("{} ({}, {} free of {}): {}\n", best->id, to_view(first.info.name),
                    format_bytes(first.info.memory_free), format_bytes(first.info.memory_total),
                    why(first, found.size() > 1 ? &found[1] : nullptr));
    write(ctx, to_str(line));
  }));
  return best;
}
