// Ops, their parsed schemas, and the kernels registered for them.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/device.hpp"
#include "tenon/ext/draft/dispatch.h"
#include "tenon/op.h"
#include "tenon/plugin.h"

namespace tenon::core {

class Frame;
struct GradFormula;

enum class ArgType : uint8_t { Tensor, Int, Float, Bool, Str, Scalar, Dtype, Device, Generator };
// By ArgType: its spelling in schemas, the tag of its values (numbers apart), its name in errors.
struct ArgTypeFacts {
  std::string_view text;
  uint32_t tag;
  std::string_view said;
};
constexpr ArgTypeFacts kArgTypes[] = {{"Tensor", TN_VALUE_TENSOR, "a tensor"},
                                      {"int", TN_VALUE_INT, "an integer"},
                                      {"float", TN_VALUE_FLOAT, "a number"},
                                      {"bool", TN_VALUE_BOOL, "a bool"},
                                      {"str", TN_VALUE_STR, "a string"},
                                      {"Scalar", TN_VALUE_FLOAT, "a number"},
                                      {"dtype", TN_VALUE_DTYPE, "a dtype"},
                                      {"device", TN_VALUE_DEVICE, "a device"},
                                      {"generator", TN_VALUE_GENERATOR, "a generator"}};

// One argument of a schema.
struct ArgSpec {
  std::string name;
  ArgType type = ArgType::Tensor;
  bool list = false;
  bool optional = false;          // the argument itself: "Tensor?", "int[]?"
  bool optional_entries = false;  // "Tensor?[]"
  bool written = false;           // "Tensor!"
  bool has_default = false;
  tn_value default_value{};  // points into what follows, which keeps its address when this is moved
  std::vector<int64_t> default_ints;
  std::vector<char> default_text;
};

struct Schema {
  std::string text;  // "add(Tensor x, Tensor y) -> Tensor @1"
  std::string name;
  std::vector<ArgSpec> args;
  std::vector<std::string> results;  // names, empty where the schema gives none
  bool list_result = false;          // the last result is a list: "Tensor[] parts"
  uint32_t revision = 1;
};
// Throws Error(TN_INVALID_ARGUMENT) that points at the place.
Schema parse_schema(std::string_view text);
// The name before the arguments, unchecked.
inline std::string_view name_in(std::string_view schema) {
  return schema.substr(0, schema.find('('));
}

// How an op runs.
enum class OpKind : uint8_t {
  Kernel,     // shape rule, then a kernel, a decomposition or the host's kernel
  View,       // in the core, on metadata
  Composite,  // always its decomposition
  Core,       // a function of the core (`contiguous`, `to`)
};

using RuleFn = void (*)(Frame& frame);
// Computes results with other ops; fills outs with new references. Throws Error.
using DecomposeFn = void (*)(Frame& frame, tn_tensor** outs);
// A new header over elements of x, argument 0; a copy where no strides can express it. Records nothing. Throws Error.
using ViewFn = tn_tensor* (*)(Frame& frame, tn_tensor& x);

// The definition that a plugin or host gave of its op. Out of service it answers with an error; its plugin may register it again.
struct ForeignOp {
  std::string plugin;
  tn_op_def def{};
  std::atomic<bool> live{false};
};

// Kernels of one op for one device type and dtype, best first. Immutable once published.
struct KernelEntry {
  tn_kernel table;     // completed
  std::string plugin;  // id
  uint64_t serial;     // of the registration; part of the plan cache's key
};
using KernelTable = std::array<std::vector<const KernelEntry*>, TN_DTYPE_COUNT>;

}  // namespace tenon::core

struct tn_op {
  tenon::core::Schema schema;
  uint32_t id = 0;
  tenon::core::OpKind kind = tenon::core::OpKind::Kernel;
  tenon::core::RuleFn rule = nullptr;
  tenon::core::DecomposeFn decompose = nullptr;
  tenon::core::ViewFn view = nullptr;                  // of OpKind::View
  tenon::core::DecomposeFn run = nullptr;              // of OpKind::Core
  const tenon::core::GradFormula* gradient = nullptr;  // NULL: none
  bool through = false;                                // the decomposition is differentiated
  bool elementwise = false;  // has a loop without reduced dimensions: in place is safe
  bool ordered = false;      // a reduction that counts positions: dimensions keep their order
  // Kernels skip the copy of argument 0 when the result takes its place.
  bool updates_first = false;
  uint8_t fast_operands = 0;                  // 1 or 2: the short path may be tried
  uint64_t fast_dtypes = 0;                   // dtypes the rule leaves as they are
  tenon::core::ForeignOp* foreign = nullptr;  // registered by a plugin or host
  std::array<std::atomic<const tenon::core::KernelTable*>, tenon::core::kMaxDeviceTypes> kernels{};

  std::string_view name() const { return schema.name; }
};

namespace tenon::core {

// Kernels of an op for a device and dtype, best first.
inline std::span<const KernelEntry* const> candidates(const tn_op& op, const tn_device& device,
                                                      tn_dtype dtype) {
  const KernelTable* table = op.kernels[device.type->id].load(std::memory_order_acquire);
  if (table == nullptr) return {};
  return (*table)[dtype];
}
// What the host answers to get_interface("tn.dispatch", 1).
extern const tn_dispatch g_dispatch_table;

// Finds an op; NULL when there is none.
const tn_op* find_op(std::string_view name);
// Throws Error(TN_NOT_FOUND) that suggests the nearest name.
const tn_op& require_op(std::string_view name);
std::vector<const tn_op*> all_ops();
// The op of ops/ of that name, for use inside the core: `static const tn_op& op = builtin("add");`
const tn_op& builtin(std::string_view name);
// A plugin's definition of its op. Throws Error while the op is out of service.
const tn_op_def& in_service(const tn_op& op);
// Whether register_op would take the op. Throws Error.
void check_new_op(const tn_op_def& def, std::string_view plugin_id);
// Puts an op that a plugin defines in service. Throws Error.
void register_op(const tn_op_def& def, std::string_view plugin_id);
// Takes a plugin's ops out of service.
void retire_ops(std::string_view plugin_id) noexcept;
// Tables of full size. All or nothing; throws Error that names the kernel.
void register_kernels(std::string_view plugin_id, std::string_view device_type,
                      std::span<const tn_kernel> kernels);
// Takes a plugin's kernels out again and drops their plans.
void unregister_kernels(std::string_view plugin_id);
uint32_t count_kernels(std::string_view plugin_id);

}  // namespace tenon::core
