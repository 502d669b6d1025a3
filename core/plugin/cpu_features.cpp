#include "plugin/cpu_features.hpp"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace tenon::core {

#if defined(__x86_64__)

namespace {

// Parts of XCR0: which registers the operating system saves.
constexpr uint64_t kNoState = 0;
constexpr uint64_t kAvxState = 0x6;      // XMM, YMM
constexpr uint64_t kAvx512State = 0xe6;  // and opmask, upper ZMM
constexpr uint64_t kAmxState = 0x60000;  // tile configuration and data

enum Register : uint8_t { kEax, kEbx, kEcx, kEdx };
struct Feature {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register reg;
  uint8_t bit;
  uint64_t state;
};
constexpr Feature kFeatures[] = {
#define FEATURE(...) {__VA_ARGS__},
#include "plugin/cpu_features.def"
#undef FEATURE
};

// 0 where the operating system has not turned XSAVE on.
uint64_t saved_state() {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx >> 27 & 1) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | uint64_t{high} << 32;
}

}  // namespace

uint64_t cpu_registers(std::string_view wanted) {
  for (const Feature& feature : kFeatures)
    if (feature.name == wanted) return feature.state;
  return 0;
}

bool cpu_has(std::string_view wanted) {
  for (const Feature& feature : kFeatures) {
    if (feature.name != wanted) continue;
    uint32_t registers[4] = {};
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &registers[0], &registers[1],
                          &registers[2], &registers[3]) == 0)
      return false;
    if (feature.leaf == 7 && feature.subleaf != 0) {  // leaf 7 tells how many subleaves it has
      uint32_t most = 0, b = 0, c = 0, d = 0;
      __get_cpuid_count(7, 0, &most, &b, &c, &d);
      if (most < feature.subleaf) return false;
    }
    const uint64_t state = feature.state == kNoState ? 0 : saved_state();
    return (registers[feature.reg] >> feature.bit & 1) != 0 &&
           (state & feature.state) == feature.state;
  }
  return false;
}

#elif defined(__aarch64__)

bool cpu_has(std::string_view wanted) {
  struct Feature {
    std::string_view name;
    unsigned long kind, bit;
  };
  constexpr Feature kFeatures[] = {
#define FEATURE(...) {__VA_ARGS__},
#include "plugin/cpu_features.def"
#undef FEATURE
  };
  for (const Feature& feature : kFeatures)
    if (feature.name == wanted) return (getauxval(feature.kind) & feature.bit) != 0;
  return false;
}

#else

bool cpu_has(std::string_view) { return false; }

#endif

#if !defined(__x86_64__)
uint64_t cpu_registers(std::string_view) { return 0; }
#endif

}  // namespace tenon::core
