/* A backend that owns memory and computes nothing: each op runs on the host, on copies. Copy it,
   give it a name, and replace the bodies below by calls to your device; then add kernels, and each
   one makes it faster. */
#include <stdlib.h>
#include <string.h>

#include "tenon/plugin.h"

#define STR(text) \
  { text, sizeof(text) - 1 }

static const tn_host* host;

static tn_status* error(uint32_t code, const char* message) {
  const tn_str text = {message, strlen(message)};
  return host->make_status(code, text);
}

/* ---- Devices: how many there are, and what they are */

static tn_status* count(void* self, uint32_t* devices, tn_str* reason) {
  (void)self;
  *devices = 1; /* 0 with a reason where the hardware or its driver is missing */
  *reason = (tn_str){"", 0};
  return NULL;
}

static tn_status* info(void* self, uint32_t index, tn_device_info* out) {
  (void)self, (void)index;
  out->kind = TN_DEVICE_KIND_OTHER;
  out->name = (tn_str)STR("Template device");
  out->memory_total = out->memory_free = (uint64_t)1 << 30;
  out->compute_units = 1;
  out->subgroup_size = 1;
  out->dtypes = TN_MASK_ALL;
  return NULL;
}

static tn_status* synchronize(void* self, uint32_t index) {
  (void)self, (void)index;
  return NULL;
}

/* ---- Memory: raw blocks, and copies of bytes. Its addresses mean nothing to the host, so *address
 * is NULL. */

static tn_status* allocate(void* self, uint32_t index, uint64_t bytes, void** buffer,
                           void** address) {
  (void)self, (void)index;
  *buffer = malloc(bytes);
  *address = NULL;
  return *buffer != NULL ? NULL : error(TN_OUT_OF_MEMORY, "malloc failed");
}

static void release(void* self, uint32_t index, void* buffer) {
  (void)self, (void)index;
  free(buffer);
}

static tn_status* copy_in(void* self, uint32_t index, void* stream, const void* src, void* buffer,
                          uint64_t offset, uint64_t bytes) {
  (void)self, (void)index, (void)stream;
  memcpy((char*)buffer + offset, src, bytes);
  return NULL;
}

static tn_status* copy_out(void* self, uint32_t index, void* stream, void* buffer, uint64_t offset,
                           void* dst, uint64_t bytes) {
  (void)self, (void)index, (void)stream;
  memcpy(dst, (const char*)buffer + offset, bytes);
  return NULL;
}

static tn_status* copy_within(void* self, uint32_t index, void* stream, void* src,
                              uint64_t src_offset, void* dst, uint64_t dst_offset, uint64_t bytes) {
  (void)self, (void)index, (void)stream;
  memmove((char*)dst + dst_offset, (const char*)src + src_offset, bytes);
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
static const tn_device_type device_type = {.struct_size = sizeof(tn_device_type),
                                           .name = STR("template"),
                                           .device = &device_table,
                                           .memory = &memory_table};

/* ---- Entry. What a table leaves out, the core fills with answers of its own. */

static tn_status* start(const tn_host* from, void* plugin, tn_str directory, void** state) {
  (void)directory, (void)state;
  host = from;
  return host->register_device_type(plugin, &device_type);
}

static const tn_plugin plugin_table = {.struct_size = sizeof(tn_plugin),
                                       .abi_major = TN_ABI_MAJOR,
                                       .abi_minor = TN_ABI_MINOR,
                                       .id = STR("template"),
                                       .version = STR("0.1.0"),
                                       .start = start};

TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out) {
  (void)host_major, (void)host_minor;
  *out = &plugin_table;
  return NULL;
}
