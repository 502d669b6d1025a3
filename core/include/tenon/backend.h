/* What a backend provides: tables for its devices, their memory and their streams. Thread tags as in plugin.h. */
#ifndef TENON_BACKEND_H
#define TENON_BACKEND_H

#include "tenon/device.h"

typedef struct tn_device_table {
  uint32_t struct_size;
  uint32_t flags;
  /* The number of devices; 0 with a reason is not an error. `reason` has static storage. [init] */
  tn_status* (*count)(void* self, uint32_t* count, tn_str* reason);
  /* Properties of the device with this index. [thread-safe] */
  tn_status* (*info)(void* self, uint32_t index, tn_device_info* out);
  /* Waits for all work on the device, and reports asynchronous failures. [thread-safe] */
  tn_status* (*synchronize)(void* self, uint32_t index);
} tn_device_table;

/* tn_memory_table.flags */
#define TN_MEMORY_ADDRESSABLE 1u /* the host may read and write *address */

typedef struct tn_memory_table {
  uint32_t struct_size;
  uint32_t flags;
  /* Allocates memory, aligned to at least 64 bytes; the core caches. *address is NULL if device memory has no address. Errors:
     TN_OUT_OF_MEMORY. [thread-safe] */
  tn_status* (*allocate)(void* self, uint32_t index, uint64_t bytes, void** buffer, void** address);
  /* Called after the work that uses the buffer has been waited for. [thread-safe] */
  void (*free)(void* self, uint32_t index, void* buffer);
  /* Pinned host memory for transfers; optional. [thread-safe] */
  tn_status* (*host_allocate)(void* self, uint32_t index, uint64_t bytes, void** address);
  /* Frees what host_allocate returned. [thread-safe] */
  void (*host_free)(void* self, uint32_t index, void* address);
  /* Copy bytes. The caller may reuse its host memory when copy_in returns. [stream-ordered] */
  tn_status* (*copy_in)(void* self, uint32_t index, void* stream, const void* src, void* buffer,
                        uint64_t offset, uint64_t bytes);
  /* Complete after synchronize. [stream-ordered] */
  tn_status* (*copy_out)(void* self, uint32_t index, void* stream, void* buffer, uint64_t offset,
                         void* dst, uint64_t bytes);
  /* The ranges may overlap. [stream-ordered] */
  tn_status* (*copy_within)(void* self, uint32_t index, void* stream, void* src,
                            uint64_t src_offset, void* dst, uint64_t dst_offset, uint64_t bytes);
  /* Copies between two devices of this type, on the source's stream; optional. [stream-ordered] */
  tn_status* (*copy_peer)(void* self, uint32_t src_index, void* src, uint64_t src_offset,
                          uint32_t dst_index, void* dst, uint64_t dst_offset, uint64_t bytes,
                          void* stream);
  /* Repeats a pattern of 1, 2, 4 or 8 bytes. [stream-ordered] */
  tn_status* (*fill)(void* self, uint32_t index, void* stream, void* buffer, uint64_t offset,
                     uint64_t bytes, const void* pattern, uint32_t pattern_size);
} tn_memory_table;

typedef struct tn_stream_table {
  uint32_t struct_size;
  uint32_t flags;
  /* Creates a queue whose work runs in order. [thread-safe] */
  tn_status* (*create)(void* self, uint32_t index, void** stream);
  /* The stream has no work left. [thread-safe] */
  void (*destroy)(void* self, void* stream);
  /* Waits for everything enqueued before the call, and reports asynchronous failures. [thread-safe] */
  tn_status* (*synchronize)(void* self, void* stream);
  /* Creates an event, not recorded yet. [thread-safe] */
  tn_status* (*event_create)(void* self, uint32_t index, void** event);
  /* No stream waits for the event. [thread-safe] */
  void (*event_destroy)(void* self, void* event);
  /* The event is reached when all earlier work is done. [stream-ordered] */
  tn_status* (*event_record)(void* self, void* event, void* stream);
  /* Later work on the stream waits for the event, which may have been recorded on another stream. [stream-ordered] */
  tn_status* (*event_wait)(void* self, void* event, void* stream);
  /* *done: 1 if the event was reached or never recorded. Does not wait. [thread-safe] */
  tn_status* (*event_query)(void* self, void* event, uint32_t* done);
  /* Waits until the event is reached. [thread-safe] */
  tn_status* (*event_synchronize)(void* self, void* event);
  /* The device time between two events that were reached. [thread-safe] */
  tn_status* (*event_elapsed)(void* self, void* start, void* end, double* seconds);
} tn_stream_table;

typedef struct tn_device_type {
  uint32_t struct_size;
  uint32_t flags;
  tn_str name; /* "vulkan"; devices are "vulkan:0", … */
  void* self;
  const tn_device_table* device;
  const tn_memory_table* memory;
  const tn_stream_table* stream; /* NULL: work is done when a call returns */
} tn_device_type;

#endif
