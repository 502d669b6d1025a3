// The table of functions that plugins get, and registration through it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "boundary.hpp"
#include "complete.hpp"
#include "dispatch/execution.hpp"
#include "dispatch/foreign.hpp"
#include "forever.hpp"
#include "memory/device.hpp"
#include "plugin/layer.hpp"
#include "plugin/plugin.hpp"
#include "plugin/probe.hpp"
#include "plugin/threads.hpp"
#include "tenon/autograd.h"
#include "tenon/plugins.h"
#include "tenon/tensor.h"

namespace tenon::core {

Plugin* g_starting = nullptr;

namespace {

Plugin& starting(void* token, const char* what) {
  if (token == nullptr || token != g_starting || !is_loading_here())
    fail(TN_FAILED_PRECONDITION, "{}: registration is for a plugin's start", what);
  return *g_starting;
}

// ---- Ops that plugins define --------------------------------------------------------------------

const NewOp* find_staged(const Plugin& plugin, std::string_view name) {
  const auto found = std::ranges::find(plugin.staged_ops, name,
                                       [](const NewOp& op) { return name_in(op.schema); });
  return found == plugin.staged_ops.end() ? nullptr : &*found;
}

tn_status* slot_register_op(void* token, const tn_op_def* def) {
  return guarded([&] {
    Plugin& plugin = starting(token, "register_op");
    if (def == nullptr || def->struct_size < offsetof(tn_op_def, self))
      fail(TN_INVALID_ARGUMENT, "register_op: the definition is NULL or too short");
    tn_op_def staged = complete(def);
    const std::string_view name = name_in(text_of(staged.schema));
    if (name.find('.') == name.npos)
      fail(TN_INVALID_ARGUMENT, "op \"{}\": names without a dot are the core's own", name);
    check_new_op(staged, plugin.id);
    if (find_staged(plugin, name) != nullptr)
      fail(TN_ALREADY_EXISTS, "op \"{}\" is registered twice", name);
    if (layer() != nullptr && layer()->op != nullptr) layer()->op(to_str(plugin.id), &staged);
    plugin.staged_ops.push_back({std::string(text_of(staged.schema)), staged});
  });
}

// ---- Kernels and devices ------------------------------------------------------------------------

// An op of this plugin or, because only plugins' ops have a dot, of one that may come later.
bool is_op_to_come(const Plugin& plugin, std::string_view name) {
  return find_staged(plugin, name) != nullptr ||
         (name.find('.') != name.npos && find_op(name) == nullptr);
}

// The loader's lock must be held.
std::vector<WaitingKernel>& waiting_kernels() { return forever<std::vector<WaitingKernel>>(); }

void put_in_service(WaitingKernel& waiting) {
  waiting.kernel.op = to_str(waiting.schema);
  register_kernels(waiting.plugin, waiting.device, {&waiting.kernel, 1});
}

// True if its op exists now. The kernel is then in service, or left out: the fault of its plugin is not that of the op's.
bool end_wait(WaitingKernel& waiting) {
  if (find_op(name_in(waiting.schema)) == nullptr) return false;
  try {
    put_in_service(waiting);
  } catch (const Error& error) {
    log_message(2, fmt::format("a kernel is left out: {}", error.what()));
  }
  return true;
}

tn_status* slot_register_kernels(void* token, tn_str device, const tn_kernel* kernels,
                                 uint32_t count, uint32_t stride) {
  return guarded([&] {
    Plugin& plugin = starting(token, "register_kernels");
    constexpr uint32_t kLeast = offsetof(tn_kernel, run) + sizeof(tn_kernel::run);
    if (count == 0) return;
    if (kernels == nullptr || stride < kLeast)
      fail(TN_INVALID_ARGUMENT, "register_kernels: the kernels are NULL, or {} bytes apart",
           stride);
    if (find_device_type(text_of(device)) == nullptr) {
      if (is_probe()) return;  // the plugin that brings it is not here
      plugin.wants_device_type = true;
      fail(TN_NOT_FOUND, "kernels for device type \"{}\", which nobody has registered",
           text_of(device));
    }
    std::vector<tn_kernel> now;
    std::vector<WaitingKernel> later;
    for (uint32_t i = 0; i < count; ++i) {
      tn_kernel kernel = complete(kernels, i, stride);
      if (kernel.struct_size < kLeast || kernel.op.data == nullptr)
        fail(TN_INVALID_ARGUMENT, "kernel {} of {}: its table has {} bytes, or no op", i, count,
             kernel.struct_size);
      if (layer() != nullptr && layer()->kernel != nullptr)
        layer()->kernel(to_str(plugin.id), device, &kernel);
      const std::string schema(to_view(kernel.op));
      if (is_op_to_come(plugin, name_in(schema)))
        later.push_back({plugin.id, std::string(text_of(device)), schema, kernel});
      else
        now.push_back(kernel);
    }
    register_kernels(plugin.id, text_of(device), now);
    std::ranges::move(later, std::back_inserter(plugin.staged_kernels));
  });
}

tn_status* slot_register_device_type(void* token, const tn_device_type* type) {
  return guarded([&] {
    Plugin& plugin = starting(token, "register_device_type");
    if (type == nullptr || type->struct_size < offsetof(tn_device_type, memory))
      fail(TN_INVALID_ARGUMENT, "register_device_type: the type is NULL or too short");
    add_device_type(plugin.id, *type);
  });
}

// ---- The rest -----------------------------------------------------------------------------------

void log_line(uint32_t level, tn_str message) {
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  static const uint32_t least = [] {
    const char* wanted = std::getenv("TENON_LOG");
    for (uint32_t i = 0; wanted != nullptr && i < 4; ++i)
      if (std::string_view(wanted) == kNames[i]) return i;
    return 2u;
  }();
  const uint32_t shown = level > 3 ? 3 : level;
  if (shown < least || message.data == nullptr) return;
  std::fprintf(stderr, "tenon: %s: %.*s\n", kNames[shown], static_cast<int>(message.size),
               message.data);
}

tn_status* make_output(const tn_call* call, uint32_t index, uint32_t ndim, const int64_t* shape,
                       const tn_view** out) {
  TN_REQUIRE(call);
  TN_REQUIRE_ARRAY(shape, ndim);
  TN_REQUIRE(out);
  constexpr uint32_t kLeast = offsetof(tn_call, context) + sizeof(tn_call::context);
  return guarded([&] {
    if (call->struct_size < kLeast || call->context == nullptr)
      fail(TN_INVALID_ARGUMENT, "[make_output] the call is not one that the core made");
    *out = static_cast<Execution*>(call->context)->make_output(index, {shape, ndim});
  });
}

const void* get_interface(tn_str name, uint32_t revision) {
  const auto asked = [&](std::string_view offered, uint32_t of) {
    return name.data != nullptr && to_view(name) == offered && revision == of;
  };
  if (asked(TN_DISPATCH_NAME, TN_DISPATCH_REVISION)) return &g_dispatch_table;
  return asked(TN_THREADS_NAME, TN_THREADS_REVISION) ? &g_threads_table : nullptr;
}

}  // namespace

void commit_ops(Plugin& plugin) {
  for (NewOp& op : std::exchange(plugin.staged_ops, {})) {
    op.def.schema = to_str(op.schema);
    register_op(op.def, plugin.id);
  }
  for (WaitingKernel& staged : std::exchange(plugin.staged_kernels, {}))
    if (find_op(name_in(staged.schema)) != nullptr)
      put_in_service(staged);
    else
      waiting_kernels().push_back(std::move(staged));
  std::erase_if(waiting_kernels(), end_wait);
}

void retire_ops(const Plugin& plugin) noexcept {
  std::erase_if(waiting_kernels(), [&](const auto& one) { return one.plugin == plugin.id; });
  retire_ops(plugin.id);
}

void log_message(uint32_t level, std::string_view message) { log_line(level, to_str(message)); }

const tn_host& host_table() {
  static const tn_host table = {
      .struct_size = sizeof(tn_host),
      .flags = 0,
      .abi_major = TN_ABI_MAJOR,
      .abi_minor = TN_ABI_MINOR,
      .make_status = tn_status_make,
      .status_code = tn_status_code,
      .status_message = tn_status_message,
      .status_release = tn_status_release,
      .log = log_line,
      .register_device_type = slot_register_device_type,
      .register_kernels = slot_register_kernels,
      .register_op = slot_register_op,
      .make_output = make_output,
      .op_find = tn_op_find,
      .op_call = tn_op_call,
      .tensor_retain = tn_tensor_retain,
      .tensor_release = tn_tensor_release,
      .tensor_view = tn_tensor_view,
      .grad_output = grad_output,
      .grad_saved_input = grad_saved_input,
      .grad_saved_output = grad_saved_output,
      .grad_arg = grad_arg,
      .grad_needed = grad_needed,
      .grad_set = grad_set,
      .get_interface = get_interface,
      .op_call_into = tn_op_call_into,
      .call_layer_push = tn_call_layer_push,
      .call_layer_pop = tn_call_layer_pop,
      .backward_on_end = tn_backward_on_end,
      .plugin_interface = tn_plugin_interface,
      .op_result_count = tn_op_result_count,
      .grad_result_count = grad_result_count,
      .grad_entry_count = grad_entry_count,
      .grad_saved_entry = grad_saved_entry,
      .grad_entry_needed = grad_entry_needed,
      .grad_set_entry = grad_set_entry,
      .storage_track = tn_storage_track,
      .storage_release = tn_storage_release,
      .storage_restore = tn_storage_restore,
  };
  return table;
}

}  // namespace tenon::core
