/* The plugin that abi_call.cpp calls: one kernel, z = x + y over flat floats. */
#include "tenon/kernel.h"

static tn_status* add(void* self, void* plan, const tn_call* call) {
  const float *x = call->args[0].as.view->data, *y = call->args[1].as.view->data;
  float* z = call->outs[0]->data;
  for (int64_t i = 0, n = call->loop->shape[0]; i < n; ++i) z[i] = x[i] + y[i];
  return (void)self, (void)plan, NULL;
}

static tn_status* start(const tn_host* host, void* plugin, tn_str directory, void** state) {
  const tn_kernel kernel = {.struct_size = sizeof kernel,
                            .flags = TN_KERNEL_HOST_SCALARS,
                            .op = TN_STR("add(Tensor x, Tensor y) -> Tensor @1"),
                            .dtypes = TN_MASK(TN_DTYPE_F32),
                            .run = add};
  (void)directory, (void)state;
  return host->register_kernels(plugin, (tn_str)TN_STR("cpu"), &kernel, 1, sizeof kernel);
}
static const tn_plugin plugin_table = {.struct_size = sizeof plugin_table,
                                       .abi_major = TN_ABI_MAJOR,
                                       .abi_minor = TN_ABI_MINOR,
                                       .id = TN_STR("org.example.abi_call"),
                                       .version = TN_STR("1.0.0"),
                                       .start = start};
TN_EXPORT tn_status* tn_plugin_query(uint32_t major, uint32_t minor, const tn_plugin** out) {
  return (void)major, (void)minor, *out = &plugin_table, NULL;
}
