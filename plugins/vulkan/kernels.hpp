// How families of kernels register. To add a family, write a file in ops/ that defines
// `void add_NAME_kernels(KernelList& list)`, and put its name into families.def.
#pragma once

#include <string_view>
#include <vector>

#include "launch.hpp"
#include "tenon/plugin.hpp"

namespace tenon::vulkan {

struct KernelSpec {
  std::string_view schema;  // TN_SCHEMA_… of tenon/schemas.h
  uint64_t dtypes = 0;      // mask over the first tensor input after promotion
  void (*run)(const tn_call& call, uint32_t code);  // may throw sdk::Error
  uint32_t code = 0;                                // which op, if a function serves several
  uint32_t flags = 0;                               // TN_KERNEL_…
  // Besides what every kernel requires: dtypes that the device supports, and sizes below 2^32.
  bool (*supports)(const tn_call& call, uint32_t code) = nullptr;
  uint64_t (*scratch)(const tn_call& call, uint32_t code) = nullptr;
  int32_t priority = 0;
};

class KernelList {
 public:
  void add(const KernelSpec& spec) { specs_.push_back(spec); }
  const std::vector<KernelSpec>& specs() const { return specs_; }

 private:
  std::vector<KernelSpec> specs_;
};

#define FAMILY(name) void add_##name##_kernels(KernelList& list);
#include "families.def"
#undef FAMILY

// Every kernel of the plugin in the core's form. Static.
const std::vector<tn_kernel>& all_kernels();

inline constexpr uint64_t kFloats = TN_MASK_HALF | TN_MASK(TN_DTYPE_F32);  // computed in f32
inline constexpr uint64_t kDouble = TN_MASK(TN_DTYPE_F64);
inline constexpr uint64_t kSmallInts = TN_MASK(TN_DTYPE_U8) | TN_MASK(TN_DTYPE_I8) |
                                       TN_MASK(TN_DTYPE_U16) | TN_MASK(TN_DTYPE_I16) |
                                       TN_MASK(TN_DTYPE_I32);  // computed in i32
// Computed in i64.
inline constexpr uint64_t kLongInts = TN_MASK(TN_DTYPE_U32) | TN_MASK(TN_DTYPE_I64);
inline constexpr uint64_t kInts = kSmallInts | kLongInts;
inline constexpr uint64_t kReals = kFloats | kDouble | kInts;
inline constexpr uint64_t kAll = kReals | TN_MASK_BOOL;
// What can be summed: unsigned integers would give u64, which is not computed here.
inline constexpr uint64_t kSummed = kAll & ~TN_MASK_UNSIGNED;

// Shorthands for reading a call.
using sdk::numel;
inline const Device& device_of(const tn_call& call) { return backend().device(call.device_index); }
inline const tn_view& input(const tn_call& call, uint32_t arg) { return *call.args[arg].as.view; }
inline const tn_view* input_or_null(const tn_call& call, uint32_t arg) {
  return call.args[arg].tag == TN_VALUE_VIEW ? call.args[arg].as.view : nullptr;
}
inline const tn_view& output(const tn_call& call, uint32_t k = 0) { return *call.outs[k]; }
inline std::string_view text_arg(const tn_call& call, uint32_t arg) {
  return {call.args[arg].as.str, call.args[arg].count};
}
inline double real_arg(const tn_call& call, uint32_t arg) { return sdk::Call(call).real(arg); }

}  // namespace tenon::vulkan
