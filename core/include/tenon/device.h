/* Devices from a host program's view, and the memory that the core holds on them. */
#ifndef TENON_DEVICE_H
#define TENON_DEVICE_H

#include "tenon/value.h"

/* tn_device_info.kind */
#define TN_DEVICE_KIND_CPU 0u
#define TN_DEVICE_KIND_GPU 1u
#define TN_DEVICE_KIND_INTEGRATED_GPU 2u
#define TN_DEVICE_KIND_SOFTWARE 3u /* a GPU interface executed by the CPU */
#define TN_DEVICE_KIND_OTHER 4u

/* Properties of a device. The caller sets struct_size; no field beyond it is filled. Strings live as long as the device. */
typedef struct tn_device_info {
  uint32_t struct_size;
  uint32_t kind;
  tn_str name;           /* the hardware's name */
  uint64_t memory_total; /* bytes */
  uint64_t memory_free;  /* bytes, at the time of the call */
  uint32_t compute_units;
  uint32_t subgroup_size; /* warp or subgroup width; 1 on a CPU */
  uint64_t dtypes;        /* mask */
  tn_str pci_id;          /* "0000:01:00.0", or empty */
  uint64_t peak_flops;    /* declared f32 rate, or 0 */
} tn_device_info;

TN_EXTERN_C_BEGIN

/* Devices of all plugins, the host first. Borrowed, valid for the life of the process. [thread-safe] */
TN_API uint32_t tn_device_count(void);
/* The device at an index below the count; NULL beyond it. [thread-safe] */
TN_API tn_device* tn_device_at(uint32_t index);
/* Finds "cpu", "cpu:0" or "auto". Errors: TN_NOT_FOUND, with the available devices. [thread-safe] */
TN_API tn_status* tn_device_find(tn_str name, tn_device** out);
/* The device that "auto" stands for; writes the reason in one line. [thread-safe] */
TN_API tn_device* tn_device_best(tn_write_fn write, void* ctx);
/* "cpu:0". Static storage. [thread-safe] */
TN_API tn_str tn_device_id(const tn_device* device);
/* The id of the plugin that owns it; "core" for the host. [thread-safe] */
TN_API tn_str tn_device_plugin(const tn_device* device);
/* Errors: from the plugin. [thread-safe] */
TN_API tn_status* tn_device_get_info(tn_device* device, tn_device_info* out);
/* Waits until all work is done, and reports asynchronous failures with the op's name. [thread-safe] */
TN_API tn_status* tn_device_synchronize(tn_device* device);

/* What the caching allocator holds, in bytes and counts. */
typedef struct tn_memory_stats {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t used; /* in live tensors */
  uint64_t used_peak;
  uint64_t held; /* taken from the device, cached blocks included */
  uint64_t held_peak;
  uint64_t allocations;        /* calls since the start */
  uint64_t device_allocations; /* of those, calls that went to the device */
  uint64_t retries;            /* after out of memory */
  uint64_t limit;              /* 0: none */
} tn_memory_stats;
/* Fills *out; the caller sets struct_size. Errors: NULL arguments. [thread-safe] */
TN_API tn_status* tn_memory_get_stats(tn_device* device, tn_memory_stats* out);
/* Resets the peaks to the current values. [thread-safe] */
TN_API void tn_memory_reset_peak(tn_device* device);
/* Limits the bytes that the allocator may hold (0: no limit). [thread-safe] */
TN_API void tn_memory_set_limit(tn_device* device, uint64_t bytes);
/* Returns cached blocks to the device. Errors: those of waiting for it. [thread-safe] */
TN_API tn_status* tn_memory_trim(tn_device* device);

TN_EXTERN_C_END
#endif
