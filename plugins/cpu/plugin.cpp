// The plugin's entry. It has no device of its own: it registers kernels for the
// host's device "cpu".
#include <hwy/targets.h>

#include <cstdlib>
#include <string_view>

#include "fuse/interface.hpp"
#include "kernels.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// TENON_CPU_SIMD=avx2 or =baseline selects an older instruction set, for tests and comparisons.
void limit_targets() {
  const char* wanted = std::getenv("TENON_CPU_SIMD");
  if (wanted == nullptr) return;
  int64_t keep = hwy::SupportedTargets();
  if (std::string_view(wanted) == "avx2") keep &= ~(HWY_AVX2 - 1);
  if (std::string_view(wanted) == "baseline") keep &= HWY_EMU128 | HWY_SCALAR | HWY_NEON;
  if (keep != 0) hwy::SetSupportedTargetsForTest(keep);
}

// Fused kernels keep references to these for good.
const KernelList& kernels() {
  static const KernelList list = all_kernels();
  return list;
}

tn_status* start(const tn_host* from, void* token, tn_str directory, void** state) {
  *state = nullptr;
  const tn_host* host = sdk::adopt_host(from);
  return sdk::guard(host, [&] {
    limit_targets();
    survive_fork();
    sdk::Registry registry(host, token, sdk::view_of(directory));
    registry.kernels("cpu", kernels().kernels());
    start_graph(kernels());
  });
}

}  // namespace
}  // namespace tenon::cpu

extern "C" TN_EXPORT tn_status* tn_plugin_query(uint32_t, uint32_t, const tn_plugin** out) {
  using namespace tenon::cpu;
  static const tn_plugin plugin = {
      sizeof(tn_plugin),
      TN_ABI_MAJOR,
      TN_ABI_MINOR,
      0,
      tenon::sdk::str_of("cpu"),
      tenon::sdk::str_of(TN_VERSION_STRING),
      start,
      [](void*) -> tn_status* { return nullptr; },
      [](void*) {},
      [](void*, tn_str name, uint32_t revision) { return graph_interface(name, revision); }};
  *out = &plugin;
  return nullptr;
}
