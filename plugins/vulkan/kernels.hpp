// How families of kernels register. To add a family, write a file in ops/ that defines
// `void add_NAME_kernels(KernelList& list)`, and put its name into families.def.
#pragma once

#include "../common/call.hpp"
#include "../common/device_kernels.hpp"
#include "launch.hpp"

namespace tenon::vulkan {

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

inline const Device& device_of(const tn_call& call) { return backend().device(call.device_index); }

}  // namespace tenon::vulkan
