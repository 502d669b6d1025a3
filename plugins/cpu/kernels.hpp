// How families of kernels register. To add a family, write a file in ops/ that defines
// `void add_NAME_kernels(KernelList& list)`, and put its name into families.def.
//
// A SIMD family is compiled once for each instruction set, and registers the functions of the best
// one:
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "ops/NAME.cpp"
//   #include <hwy/foreach_target.h>
//   #include <hwy/highway.h>
//   HWY_BEFORE_NAMESPACE();
//   namespace tenon::cpu::HWY_NAMESPACE { … void add_kernels(KernelList& list) { … } }
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace tenon::cpu {
//   HWY_EXPORT(add_kernels);
//   void add_NAME_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
//   }
//   #endif
// Other headers come above foreach_target.h; they are compiled for the baseline. So is a template
// outside HWY_NAMESPACE, and calls of it are not inlined.
#pragma once

#include <string_view>
#include <vector>

#include "../common/call.hpp"
#include "barrier.hpp"
#include "tenon/plugin.h"

namespace tenon::cpu {

// How an elementwise kernel computes a stretch of memory; fused kernels (fuse/) run it tile by tile.
struct Elementwise;
enum class Through : uint8_t { kMemory, kF16, kBF16 };  // the halves are converted to f32 and back
struct Stretch {
  // Chooses the one for a call, by its attributes and the dtypes of its outputs.
  const Elementwise* (*choose)(const void* self, const tn_call& call) = nullptr;
  Through through = Through::kMemory;
};

struct KernelSpec {
  std::string_view schema;  // TN_SCHEMA_… of tenon/schemas.h
  uint64_t dtypes;          // mask over the first tensor input after promotion
  tn_status* (*run)(void* self, void* plan, const tn_call* call);
  uint32_t flags = 0;    // TN_KERNEL_…
  int32_t priority = 0;  // the highest that supports the call wins
  tn_status* (*supports)(void* self, const tn_call* call, uint32_t* yes) = nullptr;
  tn_status* (*prepare)(void* self, const tn_call* call, void** plan) = nullptr;
  void (*release)(void* self, void* plan) = nullptr;
  uint64_t (*scratch_size)(void* self, const tn_call* call, void* plan) = nullptr;
  void* self = nullptr;
  Stretch stretch = {};  // of elementwise kernels
};

class KernelList {
 public:
  void add(const KernelSpec& spec);
  const std::vector<tn_kernel>& kernels() const { return kernels_; }
  const std::vector<Stretch>& stretches() const { return stretches_; }  // by kernel

 private:
  std::vector<tn_kernel> kernels_;
  std::vector<Stretch> stretches_;
};

// Every kernel of the plugin, for the best instruction set of this processor.
KernelList all_kernels();

}  // namespace tenon::cpu
