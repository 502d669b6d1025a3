// Which kernel would run an op, and why; or why none did.
#include "boundary.hpp"
#include "dispatch/call.hpp"
#include "dispatch/disabled.hpp"
#include "dispatch/fallback.hpp"
#include "loader.hpp"

namespace tenon::core {
namespace {

std::string_view provider(const tn_op& op, const tn_device& device, tn_dtype dtype) {
  if (op.kind == OpKind::View || op.kind == OpKind::Core) return "core";
  if (op.kind == OpKind::Composite) return kDecomposition;
  const auto list = candidates(op, device, dtype);
  if (!list.empty()) return list.front()->plugin;
  if (op.decompose != nullptr) return kDecomposition;
  return device.is_host() || candidates(op, host_device(), dtype).empty() ? "" : kHostFallback;
}

void explain_kernels(std::string& text, std::span<const KernelEntry* const> list) {
  for (size_t i = 0; i < list.size(); ++i) {
    const tn_kernel& kernel = list[i]->table;
    text += fmt::format("  {}. kernel of plugin '{}', priority {}", i + 1, list[i]->plugin,
                        kernel.priority);
    if (kernel.supports != nullptr) text += ", for calls it says it supports";
    if (kernel.prepare != nullptr) text += ", with a plan cached by shape";
    if (kernel.flags & TN_KERNEL_STRIDED) text += ", any strides";
    if (kernel.flags & TN_KERNEL_ANY_DIM) text += ", any dimension";
    text += i == 0 ? list.size() > 1 ? ": comes first\n" : "\n"
            : kernel.priority < list[i - 1]->table.priority
                ? ": lower priority\n"
                : ": the same priority, registered later\n";
  }
}

std::string explain(const tn_op& op, tn_device& device, tn_dtype dtype) {
  std::string text =
      fmt::format("{}\non {} for {}:\n", op.schema.text, device.id, dtype_name(dtype));
  if (op.kind == OpKind::View)
    return text + "  runs in the core on metadata; no kernel is needed\n";
  if (op.kind == OpKind::Core)
    return text + "  runs in the core, which copies only where it must\n";
  if (op.kind == OpKind::Composite)
    return text + "  is made of other ops only; explain those to see their kernels\n";
  const auto list = candidates(op, device, dtype);
  if (!list.empty())
    explain_kernels(text, list);
  else
    text += "  no kernel is available\n";
  for (const auto& [other, type, kernel] : disabled_kernels())
    if (other == &op && type == device.type->id && (kernel->table.dtypes & TN_MASK(dtype)) != 0)
      text += fmt::format("  -  kernel of plugin '{}', priority {}: disabled by TENON_DISABLE\n",
                          kernel->plugin, kernel->table.priority);
  if (op.decompose != nullptr)
    text +=
        list.empty() ? "  its decomposition runs\n" : "  then its decomposition into other ops\n";
  if (list.empty() && op.decompose == nullptr)
    text += provider(op, device, dtype) == kHostFallback
                ? "  the host's kernel runs, with copies there and back\n"
                : "  nothing can run it; install a plugin that has it (`tenon devices` lists what "
                  "was found)\n";
  return text + (op.through                     ? "  gradient: through the decomposition\n"
                 : tn_op_is_differentiable(&op) ? "  gradient: yes\n"
                                                : "  gradient: none\n");
}

}  // namespace

void fail_no_kernel(const Frame& frame, tn_dtype dtype) {
  std::string dtypes;
  for (tn_dtype d = 0; d < TN_DTYPE_COUNT; ++d)
    if (!candidates(frame.op(), frame.device(), d).empty())
      dtypes += fmt::format("{}{}", dtypes.empty() ? "" : ", ", dtype_name(d));
  if (dtypes.empty()) {
    if (frame.op().foreign != nullptr)
      frame.fail(TN_UNIMPLEMENTED,
                 "no kernel on {}: no plugin that is loaded has one, and the op's own gave it no "
                 "decomposition",
                 frame.device().id);
    const std::string refused = why_refused(frame.device().type->name);
    frame.fail(TN_UNIMPLEMENTED, "no kernel on {}: no plugin that is loaded has this op; {}",
               frame.device().id,
               !refused.empty()
                   ? refused
                   : "install the CPU plugin or set TENON_PLUGIN_PATH to its directory "
                     "(`tenon devices` lists what was found)");
  }
  frame.fail(TN_UNIMPLEMENTED, "no kernel for {} on {} (there are kernels for {}){}",
             dtype_name(dtype), frame.device().id, dtypes,
             is_float8(dtype) ? storage_hint(dtype) : "; convert with cast()");
}

}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_op_explain(const tn_op* op, tn_device* device, tn_dtype dtype, tn_write_fn write,
                         void* ctx) {
  TN_REQUIRE(op, device, write);
  return guarded([&] {
    if (dtype >= TN_DTYPE_COUNT) fail(TN_INVALID_ARGUMENT, "unknown dtype code {}", dtype);
    ensure_discovered();
    write(ctx, to_str(explain(*op, *device, dtype)));
  });
}

tn_str tn_op_provider(const tn_op* op, tn_device* device, tn_dtype dtype) {
  if (op == nullptr || device == nullptr || dtype >= TN_DTYPE_COUNT) return tn_str{"", 0};
  ensure_discovered();
  return to_str(provider(*op, *device, dtype));
}
