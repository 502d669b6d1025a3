/* A plugin with two ops for the autograd tests: one with a gradient callback, one that is only a
 * decomposition. */
#include <string.h>

#include "tenon/plugin.h"

static const tn_host* g_host;

static tn_str text(const char* s) {
  tn_str str = {s, strlen(s)};
  return str;
}

static tn_value tensor_value(tn_tensor* tensor) {
  tn_value value = {TN_VALUE_TENSOR, 0, {0}};
  value.as.tensor = tensor;
  return value;
}

static tn_status* multiply(tn_value x, tn_value y, tn_tensor** out) {
  tn_value args[2] = {x, y};
  return g_host->op_call(g_host->op_find(text("mul")), args, 2, out, 1);
}

/* s·x² by mul */
static tn_status* square_decompose(void* self, const tn_value* args, uint32_t nargs,
                                   tn_tensor** outs, uint32_t nouts) {
  (void)self, (void)nargs, (void)nouts;
  tn_tensor* square = NULL;
  tn_status* status = multiply(args[0], args[0], &square);
  if (status != NULL) return status;
  status = multiply(tensor_value(square), args[1], outs);
  g_host->tensor_release(square);
  return status;
}

/* 2·s·x·g */
static tn_status* square_gradient(void* self, tn_grad_call* call) {
  (void)self;
  const tn_value* scale = g_host->grad_arg(call, 1);
  if (scale->as.f < 0)
    return g_host->make_status(TN_INVALID_ARGUMENT, text("[test.scaled_square] scale is negative"));
  if (!g_host->grad_needed(call, 0)) return NULL;
  tn_value factor = {TN_VALUE_FLOAT, 0, {0}};
  factor.as.f = 2 * scale->as.f;
  tn_tensor *slope = NULL, *grad = NULL;
  tn_status* status = multiply(tensor_value(g_host->grad_saved_input(call, 0)), factor, &slope);
  if (status != NULL) return status;
  status = multiply(tensor_value(slope), tensor_value(g_host->grad_output(call, 0)), &grad);
  g_host->tensor_release(slope);
  if (status != NULL) return status;
  status = g_host->grad_set(call, 0, grad);
  g_host->tensor_release(grad);
  return status;
}

static tn_status* twice_decompose(void* self, const tn_value* args, uint32_t nargs,
                                  tn_tensor** outs, uint32_t nouts) {
  (void)self, (void)nargs, (void)nouts;
  tn_value two = {TN_VALUE_INT, 0, {0}};
  two.as.i = 2;
  return multiply(args[0], two, outs);
}

static tn_status* start(const tn_host* host, void* plugin, tn_str directory, void** state) {
  (void)directory, (void)state;
  g_host = host;
  static tn_op_def square, twice;
  square.struct_size = sizeof(square);
  square.schema = text("test.scaled_square(Tensor x, float scale=1.0) -> Tensor @1");
  square.decompose = square_decompose;
  square.gradient = square_gradient;
  square.saved_inputs = 1;
  tn_status* status = host->register_op(plugin, &square);
  if (status != NULL) return status;
  twice.struct_size = sizeof(twice);
  twice.schema = text("test.twice(Tensor x) -> Tensor @1");
  twice.decompose = twice_decompose;
  return host->register_op(plugin, &twice);
}

static tn_status* quiesce(void* state) {
  (void)state;
  return NULL;
}
static void stop(void* state) { (void)state; }

TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out);
TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out) {
  (void)host_major, (void)host_minor;
  static tn_plugin plugin;
  plugin.struct_size = sizeof(plugin);
  plugin.abi_major = TN_ABI_MAJOR;
  plugin.abi_minor = TN_ABI_MINOR;
  plugin.id = text("test.ops");
  plugin.version = text("1.0");
  plugin.start = start;
  plugin.quiesce = quiesce;
  plugin.stop = stop;
  *out = &plugin;
  return NULL;
}
