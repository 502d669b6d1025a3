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
    {"sse2", 1, 0, kEdx, 26, kNoState},
    {"sse3", 1, 0, kEcx, 0, kNoState},
    {"ssse3", 1, 0, kEcx, 9, kNoState},
    {"sse4.1", 1, 0, kEcx, 19, kNoState},
    {"sse4.2", 1, 0, kEcx, 20, kNoState},
    {"popcnt", 1, 0, kEcx, 23, kNoState},
    {"fma", 1, 0, kEcx, 12, kAvxState},
    {"avx", 1, 0, kEcx, 28, kAvxState},
    {"f16c", 1, 0, kEcx, 29, kAvxState},
    {"bmi", 7, 0, kEbx, 3, kNoState},
    {"avx2", 7, 0, kEbx, 5, kAvxState},
    {"bmi2", 7, 0, kEbx, 8, kNoState},
    {"avx512f", 7, 0, kEbx, 16, kAvx512State},
    {"avx512dq", 7, 0, kEbx, 17, kAvx512State},
    {"avx512ifma", 7, 0, kEbx, 21, kAvx512State},
    {"avx512cd", 7, 0, kEbx, 28, kAvx512State},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512State},
    {"avx512vl", 7, 0, kEbx, 31, kAvx512State},
    {"avx512vbmi", 7, 0, kEcx, 1, kAvx512State},
    {"avx512vbmi2", 7, 0, kEcx, 6, kAvx512State},
    {"gfni", 7, 0, kEcx, 8, kNoState},
    {"vaes", 7, 0, kEcx, 9, kAvxState},
    {"avx512vnni", 7, 0, kEcx, 11, kAvx512State},
    {"avx512bitalg", 7, 0, kEcx, 12, kAvx512State},
    {"avx512fp16", 7, 0, kEdx, 23, kAvx512State},
    {"amx_bf16", 7, 0, kEdx, 22, kAmxState},
    {"amx_tile", 7, 0, kEdx, 24, kAmxState},
    {"amx_int8", 7, 0, kEdx, 25, kAmxState},
    {"avxvnni", 7, 1, kEax, 4, kAvxState},
    {"avx512bf16", 7, 1, kEax, 5, kAvx512State},
    {"lzcnt", 0x80000001u, 0, kEcx, 5, kNoState},
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
      {"neon", AT_HWCAP, HWCAP_ASIMD},      {"fp16", AT_HWCAP, HWCAP_ASIMDHP},
      {"dotprod", AT_HWCAP, HWCAP_ASIMDDP}, {"sve", AT_HWCAP, HWCAP_SVE},
      {"sve2", AT_HWCAP2, HWCAP2_SVE2},     {"i8mm", AT_HWCAP2, HWCAP2_I8MM},
      {"bf16", AT_HWCAP2, HWCAP2_BF16},
  };
  for (const Feature& feature : kFeatures)
    if (feature.name == wanted) return (getauxval(feature.kind) & feature.bit) != 0;
  return false;
}

#else

bool cpu_has(std::string_view) { return false; }

#endif

}  // namespace tenon::core
