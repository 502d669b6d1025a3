/* A backend that owns memory and computes nothing: each op runs on the host, on copies. Replace
 * the bodies below by calls to your device; then add kernels, and each one makes it faster. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/kernel.h"

static const tn_host* host;
static const tn_str device_name = TN_STR("template");

/* ---- Devices: how many there are, and what they are. [any thread] */

static tn_status* count(void* self, uint32_t* devices, tn_str* reason) {
  (void)self, (void)reason;
  *devices = 1; /* 0 with a reason where the hardware or its driver is missing */
  return NULL;
}

static tn_status* info(void* self, uint32_t index, tn_device_info* out) {
  (void)self, (void)index;
  out->kind = TN_DEVICE_KIND_OTHER;
  out->name = (tn_str)TN_STR("Template device");
  out->memory_total = out->memory_free = (uint64_t)1 << 30;
  out->compute_units = out->subgroup_size = 1;
  out->dtypes = TN_MASK_ALL;
  return NULL;
}

static tn_status* synchronize(void* self, uint32_t index) {
  (void)self, (void)index; /* wait here, if work goes on after a call has returned */
  return NULL;
}

/* ---- Memory: raw blocks, which the core caches, and copies of bytes. The host never touches the
 * address; kernels get it as view->data. Leave it NULL where memory has no address. */

static tn_status* allocate(void* self, uint32_t index, uint64_t bytes, void** buffer,
                           void** address) {
  (void)self, (void)index;
  *buffer = *address = bytes <= PTRDIFF_MAX ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
  return *buffer != NULL ? NULL : tn_error(host, TN_OUT_OF_MEMORY, "the device is out of memory");
}

static void release(void* self, uint32_t index, void* buffer) {
  (void)self, (void)index;
  free(buffer);
}

static tn_status* copy_in(void* self, uint32_t index, void* stream, const void* from, void* buffer,
                          uint64_t offset, uint64_t bytes) {
  (void)self, (void)index, (void)stream;
  memcpy((char*)buffer + offset, from, bytes);
  return NULL;
}

static tn_status* copy_out(void* self, uint32_t index, void* stream, void* buffer, uint64_t offset,
                           void* to, uint64_t bytes) {
  (void)self, (void)index, (void)stream;
  memcpy(to, (const char*)buffer + offset, bytes);
  return NULL;
}

static tn_status* copy_within(void* self, uint32_t index, void* stream, void* from,
                              uint64_t from_offset, void* to, uint64_t to_offset, uint64_t bytes) {
  (void)self, (void)index, (void)stream;
  memmove((char*)to + to_offset, (const char*)from + from_offset, bytes);
  return NULL;
}

static const tn_device_table device_table = {.struct_size = sizeof(tn_device_table),
                                             .count = count,
                                             .info = info,
                                             .synchronize = synchronize};
static const tn_memory_table memory_table = {.struct_size = sizeof(tn_memory_table),
                                             .allocate = allocate,
                                             .free = release,
                                             .copy_in = copy_in,
                                             .copy_out = copy_out,
                                             .copy_within = copy_within};

/* ---- Kernels. The lines that start with "//+" are your first one: remove the marks. */

//+ static tn_status* relu(void* self, void* plan, const tn_call* call) {
//+   const float* x = call->args[0].as.view->data;
//+   float* y = call->outs[0]->data;
//+   for (int64_t i = 0; i < call->loop->shape[0]; ++i) y[i] = x[i] < 0 ? 0 : x[i];
//+   return (void)self, (void)plan, NULL;
//+ }
//+ static const tn_kernel relu_kernel = {
//+     .struct_size = sizeof(tn_kernel), .op = TN_STR("relu(Tensor x) -> Tensor @1"),
//+     .dtypes = TN_MASK(TN_DTYPE_F32), .supports = tn_supports_dense, .run = relu};

/* ---- Entry. The core supplies defaults for whatever a table leaves out. */

static tn_status* start(const tn_host* from, void* plugin, tn_str directory, void** state) {
  (void)directory, (void)state;
  host = from;
  const tn_device_type type = {sizeof type,   0,   device_name, NULL, &device_table,
                               &memory_table, NULL};
  tn_status* status = host->register_device_type(plugin, &type);
  //+ if (status == NULL) status = host->register_kernels(plugin, device_name, &relu_kernel, 1, sizeof relu_kernel);
  return status;
}

static const tn_plugin plugin_table = {.struct_size = sizeof(tn_plugin),
                                       .abi_major = TN_ABI_MAJOR,
                                       .abi_minor = TN_ABI_MINOR,
                                       .id = TN_STR("org.example.template"),
                                       .version = TN_STR("0.1.0"),
                                       .start = start};

TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out) {
  (void)host_major, (void)host_minor;
  *out = &plugin_table;
  return NULL;
}
