/* A new op in C, softsign(x) = x / (1 + |x|), with its own gradient: g / (1 + |x|)². It saves its input for that. */
#include "tenon/kernel.h"

static const tn_host* host;

/* *out = op(x, y) */
static tn_status* call(tn_str op, tn_value x, tn_value y, uint32_t nargs, tn_tensor** out) {
  const tn_value args[2] = {x, y};
  return host->op_call(host->op_find(op), args, nargs, out, 1);
}

/* *out = 1 + |x| */
static tn_status* denominator(tn_value x, tn_tensor** out) {
  tn_tensor* absolute = NULL;
  tn_status* status = call((tn_str)TN_STR("abs"), x, x, 1, &absolute);
  if (status == NULL)
    status = call((tn_str)TN_STR("add"), tn_tensor_value(absolute), tn_float_value(1), 2, out);
  host->tensor_release(absolute);
  return status;
}

static tn_status* decompose(void* self, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                            uint32_t nouts) {
  (void)self, (void)nargs, (void)nouts;
  tn_tensor* below = NULL;
  tn_status* status = denominator(args[0], &below);
  if (status == NULL)
    status = call((tn_str)TN_STR("div"), args[0], tn_tensor_value(below), 2, outs);
  host->tensor_release(below);
  return status;
}

static tn_status* gradient(void* self, tn_grad_call* grad) {
  (void)self;
  tn_tensor *below = NULL, *square = NULL, *result = NULL;
  tn_status* status = denominator(tn_tensor_value(host->grad_saved_input(grad, 0)), &below);
  if (status == NULL)
    status =
        call((tn_str)TN_STR("square"), tn_tensor_value(below), tn_tensor_value(below), 1, &square);
  if (status == NULL)
    status = call((tn_str)TN_STR("div"), tn_tensor_value(host->grad_output(grad, 0)),
                  tn_tensor_value(square), 2, &result);
  if (status == NULL) status = host->grad_set(grad, 0, result);
  host->tensor_release(below), host->tensor_release(square), host->tensor_release(result);
  return status;
}

static tn_status* start(const tn_host* from, void* plugin, tn_str directory, void** state) {
  const tn_op_def op = {.struct_size = sizeof op,
                        .schema = TN_STR("acme.softsign(Tensor x) -> Tensor @1"),
                        .decompose = decompose,
                        .gradient = gradient,
                        .saved_inputs = 1};
  return (void)directory, (void)state, host = from, host->register_op(plugin, &op);
}
static const tn_plugin plugin_table = {.struct_size = sizeof plugin_table,
                                       .abi_major = TN_ABI_MAJOR,
                                       .abi_minor = TN_ABI_MINOR,
                                       .id = TN_STR("com.acme.op"),
                                       .version = TN_STR("1.0.0"),
                                       .start = start};
TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out) {
  return (void)host_major, (void)host_minor, *out = &plugin_table, NULL;
}
