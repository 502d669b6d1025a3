// How families of kernels register. To add a family, write a file in ops/ that defines
// `void add_NAME_kernels(KernelList& list)`, and put its name into families.def.
#pragma once

#include <string_view>
#include <vector>

#include "../common/dtype_size.hpp"
#include "backend.hpp"
#include "tenon/plugin.hpp"
#include "tenon/schemas.h"

namespace tenon::gpu {

struct KernelSpec {
  std::string_view schema;  // TN_SCHEMA_… of tenon/schemas.h
  uint64_t dtypes = 0;      // mask over the first tensor input after promotion
  void (*run)(const tn_call& call, uint32_t code);  // may throw sdk::Error
  uint32_t code = 0;                                // which op, if a function serves several
  uint32_t flags = 0;                               // TN_KERNEL_…
  bool (*supports)(const tn_call& call, uint32_t code) = nullptr;
  uint64_t (*scratch)(const tn_call& call, uint32_t code) = nullptr;
  int32_t priority = 0;
};

class KernelList {
 public:
  void add(const KernelSpec& spec) { specs_.push_back(spec); }
  // An elementwise kernel: takes any layout, and numbers as operands.
  void add_strided(std::string_view schema, uint64_t dtypes,
                   void (*run)(const tn_call& call, uint32_t code)) {
    add({.schema = schema,
         .dtypes = dtypes,
         .run = run,
         .flags = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS});
  }
  const std::vector<KernelSpec>& specs() const { return specs_; }

 private:
  std::vector<KernelSpec> specs_;
};

#define FAMILY(name) void add_##name##_kernels(KernelList& list);
#include "families.def"
#undef FAMILY

// Every kernel of plugins/gpu in the core's form, and those of a vendor's libraries with a higher priority. Static.
const std::vector<tn_kernel>& all_kernels();
const std::vector<tn_kernel>& vendor_kernels();

// Shorthands for reading a call.
using sdk::numel;
inline const tn_view& input(const tn_call& call, uint32_t arg) { return *call.args[arg].as.view; }
inline const tn_view* input_or_null(const tn_call& call, uint32_t arg) {
  return call.args[arg].tag == TN_VALUE_VIEW ? call.args[arg].as.view : nullptr;
}
inline const tn_view& output(const tn_call& call, uint32_t k = 0) { return *call.outs[k]; }
// The dtype by which the kernel was chosen: that of the first operand.
inline tn_dtype dtype_of(const tn_call& call) { return call.args->as.view->dtype; }
inline std::string_view text_arg(const tn_call& call, uint32_t arg) {
  return {call.args[arg].as.str, call.args[arg].count};
}
inline double real_arg(const tn_call& call, uint32_t arg) { return sdk::Call(call).real(arg); }
inline int64_t int_arg(const tn_call& call, uint32_t arg) { return call.args[arg].as.i; }

tn_dtype bits_of(tn_dtype dtype);  // the dtype of Sizes (types.hpp) with the same width

}  // namespace tenon::gpu
