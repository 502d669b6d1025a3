/* The smallest backend: one device that uses the host's memory and has no kernel. Every program runs on it, training included. */
#include <stdint.h>
#include <stdlib.h>

#include "tenon/kernel.h"

static const tn_host* host;

static tn_status* count(void* self, uint32_t* devices, tn_str* reason) {
  return (void)self, (void)reason, *devices = 1, NULL;
}
static tn_status* info(void* self, uint32_t index, tn_device_info* out) {
  return (void)self, (void)index, out->dtypes = TN_MASK_ALL, NULL;
}
static tn_status* synchronize(void* self, uint32_t index) { return (void)self, (void)index, NULL; }
static tn_status* allocate(void* self, uint32_t index, uint64_t bytes, void** buffer, void** at) {
  *buffer = *at = bytes <= PTRDIFF_MAX ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
  return (void)self, (void)index, *at ? NULL : tn_error(host, TN_OUT_OF_MEMORY, "out of memory");
}
static void release(void* self, uint32_t index, void* buffer) {
  (void)self, (void)index, free(buffer);
}
static tn_status* copy_in(void* self, uint32_t index, void* stream, const void* from, void* to,
                          uint64_t offset, uint64_t bytes) {
  return (void)self, (void)index, (void)stream, memcpy((char*)to + offset, from, bytes), NULL;
}
static tn_status* copy_out(void* self, uint32_t index, void* stream, void* from, uint64_t offset,
                           void* to, uint64_t bytes) {
  return (void)self, (void)index, (void)stream, memcpy(to, (char*)from + offset, bytes), NULL;
}
static tn_status* copy_within(void* self, uint32_t index, void* stream, void* from, uint64_t start,
                              void* to, uint64_t offset, uint64_t bytes) {
  memmove((char*)to + offset, (char*)from + start, bytes);
  return (void)self, (void)index, (void)stream, NULL;
}

static const tn_device_table device = {sizeof device, 0, count, info, synchronize};
static const tn_memory_table memory = {.struct_size = sizeof memory,
                                       .allocate = allocate,
                                       .free = release,
                                       .copy_in = copy_in,
                                       .copy_out = copy_out,
                                       .copy_within = copy_within};

static tn_status* start(const tn_host* from, void* plugin, tn_str directory, void** state) {
  const tn_device_type type = {sizeof type, 0, TN_STR("smallest"), NULL, &device, &memory, NULL};
  return (void)directory, (void)state, host = from, host->register_device_type(plugin, &type);
}
static const tn_plugin plugin = {.struct_size = sizeof plugin,
                                 .abi_major = TN_ABI_MAJOR,
                                 .id = TN_STR("org.example.smallest"),
                                 .version = TN_STR("1.0.0"),
                                 .start = start};
TN_EXPORT tn_status* tn_plugin_query(uint32_t major, uint32_t minor, const tn_plugin** out) {
  return (void)major, (void)minor, *out = &plugin, NULL;
}
