// The host's table as plugins see it.

#include "last_words.hpp"
#include "layer.hpp"
#include "references.hpp"

namespace tenon::validate {
namespace {

// A host function that the plugin calls while one of its slots runs on this thread.
Crossing from_plugin(const char* function) {
  const Crossing* outer = current_crossing();
  return Crossing(outer == nullptr ? std::string_view("?") : outer->plugin, function);
}

void check_text(tn_str text, const char* what) {
  if (text.data == nullptr && text.size != 0)
    found(TN_VIOLATION_ARGUMENT, fmt::format("{} is NULL with a size of {}", what, text.size));
  else if (!is_utf8(text_of(text)))
    found(TN_VIOLATION_ARGUMENT, fmt::format("{} is not UTF-8", what));
}

// ---- Statuses and messages

tn_status* make_status(uint32_t code, tn_str message) {
  const Crossing here = from_plugin("host.make_status");
  check_text(message, "the message");
  if (message.data == nullptr) message = {"", 0};
  if (code == TN_OK || code > TN_PEER_LOST) {
    found(TN_VIOLATION_ARGUMENT, fmt::format("{} is no error code", code));
    code = TN_INTERNAL;
  }
  return handed_out(g_host->make_status(code, message));
}

void status_release(tn_status* status) {
  const Crossing here = from_plugin("host.status_release");
  if (status == nullptr) return;
  if (!take_back(status))
    return found(TN_VIOLATION_OWNERSHIP,
                 fmt::format("status {} is not the plugin's: released before, or returned already",
                             static_cast<const void*>(status)));
  g_host->status_release(status);
}

void log_message(uint32_t level, tn_str message) {
  const Crossing here = from_plugin("host.log");
  check_text(message, "the message");
  if (level > 3) found(TN_VIOLATION_ARGUMENT, fmt::format("level {}; levels are 0 to 3", level));
  if (message.data != nullptr) g_host->log(level > 3 ? 3 : level, message);
}

// ---- Registration

void check_init() {
  if (!in_init_phase())
    found(TN_VIOLATION_THREAD, "called outside of start, or from another thread, but it is [init]");
}

tn_status* register_device_type(void* plugin, const tn_device_type* type) {
  const Crossing here = from_plugin("host.register_device_type");
  check_init();
  return handed_out(g_host->register_device_type(plugin, type));
}

tn_status* register_kernels(void* plugin, tn_str device, const tn_kernel* kernels, uint32_t count,
                            uint32_t stride) {
  const Crossing here = from_plugin("host.register_kernels");
  check_init();
  check_text(device, "the device's name");
  return handed_out(g_host->register_kernels(plugin, device, kernels, count, stride));
}

tn_status* register_op(void* plugin, const tn_op_def* op) {
  const Crossing here = from_plugin("host.register_op");
  check_init();
  return handed_out(g_host->register_op(plugin, op));
}

// ---- Calls, ops, tensors

tn_status* make_output(const tn_call* call, uint32_t index, uint32_t ndim, const int64_t* shape,
                       const tn_view** out) {
  const Crossing here = from_plugin("host.make_output");
  if (call == nullptr || !is_running(call))
    return handed_out(
        refused(TN_VIOLATION_ARGUMENT, "the call is not running; it ends with kernel.run"));
  if (index >= call->nouts || ndim > TN_MAX_DIMS || out == nullptr ||
      (shape == nullptr && ndim != 0))
    return handed_out(refused(
        TN_VIOLATION_ARGUMENT,
        fmt::format("output {} of {}, rank {}, or a NULL argument", index, call->nouts, ndim)));
  for (uint32_t d = 0; d < ndim; ++d)
    if (shape[d] < 0)
      return handed_out(
          refused(TN_VIOLATION_ARGUMENT, fmt::format("size {} of dimension {}", shape[d], d)));
  return handed_out(g_host->make_output(call, index, ndim, shape, out));
}

const tn_op* op_find(tn_str name) {
  const Crossing here = from_plugin("host.op_find");
  check_text(name, "the name");
  return name.data == nullptr ? nullptr : g_host->op_find(name);
}

tn_status* op_call(const tn_op* op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                   uint32_t nouts) {
  const Crossing here = from_plugin("host.op_call");
  if (op == nullptr || (args == nullptr && nargs != 0) || (outs == nullptr && nouts != 0))
    return handed_out(refused(TN_VIOLATION_ARGUMENT, "a NULL op, args or outs"));
  tn_status* status = g_host->op_call(op, args, nargs, outs, nouts);
  for (uint32_t k = 0; status == nullptr && k < nouts; ++k) gain(outs[k]);
  return handed_out(status);
}

tn_status* op_call_into(const tn_op* op, const tn_value* args, uint32_t nargs,
                        tn_tensor* const* outs, uint32_t nouts) {
  const Crossing here = from_plugin("host.op_call_into");
  if (op == nullptr || (args == nullptr && nargs != 0) || (outs == nullptr && nouts != 0))
    return handed_out(refused(TN_VIOLATION_ARGUMENT, "a NULL op, args or outs"));
  return handed_out(g_host->op_call_into(op, args, nargs, outs, nouts));
}

tn_status* op_result_count(const tn_op* op, const tn_value* args, uint32_t nargs, uint32_t* out) {
  const Crossing here = from_plugin("host.op_result_count");
  if (op == nullptr || (args == nullptr && nargs != 0) || out == nullptr)
    return handed_out(refused(TN_VIOLATION_ARGUMENT, "a NULL op, args or out"));
  return handed_out(g_host->op_result_count(op, args, nargs, out));
}

tn_status* storage_track(tn_tensor* tensor) {
  const Crossing here = from_plugin("host.storage_track");
  return handed_out(g_host->storage_track(tensor));
}

tn_status* storage_release(tn_tensor* tensor) {
  const Crossing here = from_plugin("host.storage_release");
  return handed_out(g_host->storage_release(tensor));
}

tn_status* storage_restore(tn_tensor* tensor, tn_status* (*fill)(void* ctx, tn_tensor* tensor),
                           void* ctx) {
  const Crossing here = from_plugin("host.storage_restore");
  return handed_out(restore_storage(here.plugin, tensor, fill, ctx));
}

tn_status* call_layer_push(const tn_call_layer* layer) {
  const Crossing here = from_plugin("host.call_layer_push");
  return handed_out(push_call_layer(here.plugin, layer));
}

tn_status* call_layer_pop(const tn_call_layer* layer) {
  const Crossing here = from_plugin("host.call_layer_pop");
  return handed_out(pop_call_layer(layer));
}

tn_status* backward_on_end(tn_status* (*done)(void* ctx), void* ctx, void (*destroy)(void* ctx)) {
  const Crossing here = from_plugin("host.backward_on_end");
  return handed_out(call_on_end(here.plugin, done, ctx, destroy));
}

tn_status* plugin_interface(tn_str id, tn_str name, uint32_t revision, const void** out) {
  const Crossing here = from_plugin("host.plugin_interface");
  check_text(id, "the id");
  check_text(name, "the name");
  return handed_out(g_host->plugin_interface(id, name, revision, out));
}

tn_tensor* tensor_retain(tn_tensor* tensor) {
  tn_tensor* retained = g_host->tensor_retain(tensor);
  gain(retained);
  return retained;
}

void tensor_release(tn_tensor* tensor) {
  const Crossing here = from_plugin("host.tensor_release");
  if (tensor == nullptr) return;
  if (!lose(tensor))
    return found(TN_VIOLATION_OWNERSHIP,
                 fmt::format("tensor {} is not the plugin's: borrowed, or released before",
                             static_cast<const void*>(tensor)));
  g_host->tensor_release(tensor);
}

// ---- Gradients

bool in_gradient(const tn_grad_call* call, const char* function) {
  if (call != nullptr && is_running(call)) return true;
  const Crossing here = from_plugin(function);
  found(TN_VIOLATION_ARGUMENT, "the call is not running; it ends with op.gradient");
  return false;
}

tn_tensor* grad_output(tn_grad_call* call, uint32_t result) {
  return in_gradient(call, "host.grad_output") ? g_host->grad_output(call, result) : nullptr;
}
tn_tensor* grad_saved_input(tn_grad_call* call, uint32_t arg) {
  return in_gradient(call, "host.grad_saved_input") ? g_host->grad_saved_input(call, arg) : nullptr;
}
tn_tensor* grad_saved_output(tn_grad_call* call, uint32_t result) {
  return in_gradient(call, "host.grad_saved_output") ? g_host->grad_saved_output(call, result)
                                                     : nullptr;
}
const tn_value* grad_arg(tn_grad_call* call, uint32_t arg) {
  return in_gradient(call, "host.grad_arg") ? g_host->grad_arg(call, arg) : nullptr;
}
uint32_t grad_needed(tn_grad_call* call, uint32_t arg) {
  return in_gradient(call, "host.grad_needed") ? g_host->grad_needed(call, arg) : 0;
}
tn_status* grad_set(tn_grad_call* call, uint32_t arg, tn_tensor* grad) {
  if (!in_gradient(call, "host.grad_set"))
    return handed_out(g_host->make_status(TN_INTERNAL, to_str("grad_set outside of its gradient")));
  return handed_out(g_host->grad_set(call, arg, grad));
}
uint32_t grad_result_count(tn_grad_call* call) {
  return in_gradient(call, "host.grad_result_count") ? g_host->grad_result_count(call) : 0;
}
uint32_t grad_entry_count(tn_grad_call* call, uint32_t arg) {
  return in_gradient(call, "host.grad_entry_count") ? g_host->grad_entry_count(call, arg) : 0;
}
tn_tensor* grad_saved_entry(tn_grad_call* call, uint32_t arg, uint32_t entry) {
  return in_gradient(call, "host.grad_saved_entry") ? g_host->grad_saved_entry(call, arg, entry)
                                                    : nullptr;
}
uint32_t grad_entry_needed(tn_grad_call* call, uint32_t arg, uint32_t entry) {
  return in_gradient(call, "host.grad_entry_needed") ? g_host->grad_entry_needed(call, arg, entry)
                                                     : 0;
}
tn_status* grad_set_entry(tn_grad_call* call, uint32_t arg, uint32_t entry, tn_tensor* grad) {
  if (!in_gradient(call, "host.grad_set_entry"))
    return handed_out(
        g_host->make_status(TN_INTERNAL, to_str("grad_set_entry outside of its gradient")));
  return handed_out(g_host->grad_set_entry(call, arg, entry, grad));
}

}  // namespace

const tn_host* wrap_host(const tn_host* host) {
  static tn_host table = *host;
  if (g_host == nullptr) install_last_words();
  g_host = host;
  table.make_status = make_status;
  table.status_release = status_release;
  table.log = log_message;
  table.register_device_type = register_device_type;
  table.register_kernels = register_kernels;
  table.register_op = register_op;
  table.make_output = make_output;
  table.op_find = op_find;
  table.op_call = op_call;
  table.tensor_retain = tensor_retain;
  table.tensor_release = tensor_release;
  table.grad_output = grad_output;
  table.grad_saved_input = grad_saved_input;
  table.grad_saved_output = grad_saved_output;
  table.grad_arg = grad_arg;
  table.grad_needed = grad_needed;
  table.grad_set = grad_set;
  table.op_call_into = op_call_into;
  table.call_layer_push = call_layer_push;
  table.call_layer_pop = call_layer_pop;
  table.backward_on_end = backward_on_end;
  table.plugin_interface = plugin_interface;
  table.op_result_count = op_result_count;
  table.grad_result_count = grad_result_count;
  table.grad_entry_count = grad_entry_count;
  table.grad_saved_entry = grad_saved_entry;
  table.grad_entry_needed = grad_entry_needed;
  table.grad_set_entry = grad_set_entry;
  table.storage_track = storage_track;
  table.storage_release = storage_release;
  table.storage_restore = storage_restore;
  return &table;
}

}  // namespace tenon::validate
