// The plugin's entry. It has no device of its own: it registers kernels for the
// host's device "cpu".
#include <hwy/targets.h>

#include <cstdlib>
#include <string_view>

#include "kernels.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// TENON_CPU_SIMD=avx2 or =baseline keeps to an older instruction set: for tests and comparisons.
void limit_targets() {
  const char* wanted = std::getenv("TENON_CPU_SIMD");
  if (wanted == nullptr) return;
  int64_t keep = hwy::SupportedTargets();
  if (std::string_view(wanted) == "avx2") keep &= ~(HWY_AVX2 - 1);
  if (std::string_view(wanted) == "baseline") keep &= HWY_EMU128 | HWY_SCALAR | HWY_NEON;
  if (keep != 0) hwy::SetSupportedTargetsForTest(keep);
}

void start(sdk::Registry& registry) {
  limit_targets();
  survive_fork();
  const KernelList list = all_kernels();
  registry.kernels("cpu", list.kernels());
}

}  // namespace
}  // namespace tenon::cpu

TENON_PLUGIN("cpu", TN_VERSION_STRING, tenon::cpu::start)
