// The kernels of a plugin whose functions launch work on a device, as its families list them.
#ifndef TENON_PLUGINS_COMMON_DEVICE_KERNELS_HPP
#define TENON_PLUGINS_COMMON_DEVICE_KERNELS_HPP

#include <string_view>
#include <vector>

#include "tenon/plugin.hpp"

namespace tenon {

struct KernelSpec {
  std::string_view schema;  // TN_SCHEMA_… of tenon/schemas.h
  uint64_t dtypes = 0;      // mask over the first tensor input after promotion
  void (*run)(const tn_call& call, uint32_t code);  // may throw sdk::Error
  uint32_t code = 0;                                // which op, if a function serves several
  uint32_t flags = 0;                               // TN_KERNEL_…
  // Besides what every kernel of the plugin requires.
  bool (*supports)(const tn_call& call, uint32_t code) = nullptr;
  uint64_t (*scratch)(const tn_call& call, uint32_t code) = nullptr;
  int32_t priority = 0;
};

class KernelList {
 public:
  void add(const KernelSpec& spec) { specs_.push_back(spec); }
  // An elementwise kernel: takes any layout, and numbers as operands.
  void add_elementwise(std::string_view schema, uint64_t dtypes,
                       void (*run)(const tn_call& call, uint32_t code), uint32_t code = 0,
                       bool (*supports)(const tn_call& call, uint32_t code) = nullptr) {
    add({.schema = schema,
         .dtypes = dtypes,
         .run = run,
         .code = code,
         .flags = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS,
         .supports = supports});
  }
  const std::vector<KernelSpec>& specs() const { return specs_; }

 private:
  std::vector<KernelSpec> specs_;
};

}  // namespace tenon
#endif
