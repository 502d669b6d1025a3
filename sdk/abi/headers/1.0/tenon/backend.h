/* What a backend offers: tables of its devices, their memory and their streams. Thread tags as in plugin.h. */
#ifndef TENON_BACKEND_H
#define TENON_BACKEND_H

#include "tenon/device.h"

typedef struct tn_device_table {
  uint32_t struct_size;
  uint32_t flags;
  /* How many devices there are; 0 with a reason is no error. `reason` has static storage. [init] */
  tn_status* (*count)(void* self, uint32_t* count, tn_str* reason);
  /* Properties of a device below the count. [thread-safe] */
  tn_status* (*info)(void* self, uint32_t index, tn_device_info* out);
  /* Waits for everything on the device; an asynchronous failure surfaces here. [thread-safe] */
  tn_status* (*synchronize)(void* self, uint32_t index);
} tn_device_table;

/* tn_memory_table.flags */
#define TN_MEMORY_ADDRESSABLE 1u /* the host may read and write *address */

typedef struct tn_memory_table {
  uint32_t struct_size;
  uint32_t flags;
  /* Raw memory; the core caches. At least 64-byte aligned. *address is NULL where device memory has no address.
     Errors: TN_OUT_OF_MEMORY. [thread-safe] */
  tn_status* (*allocate)(void* self, uint32_t index, uint64_t bytes, void** buffer, void** address);
  /* After the work that uses the buffer was waited for. [thread-safe] */
  void (*free)(void* self, uint32_t index, void* buffer);
  /* Pinned host memory for transfers; optional. [thread-safe] */
  tn_status* (*host_allocate)(void* self, uint32_t index, uint64_t bytes, void** address);
  /* Of what host_allocate gave. [thread-safe] */
  void (*host_free)(void* self, uint32_t index, void* address);
  /* Copies of bytes. Host memory may be reused by the caller when copy_in returns. [stream-ordered] */
  tn_status* (*copy_in)(void* self, uint32_t index, void* stream, const void* src, void* buffer,
                        uint64_t offset, uint64_t bytes);
  /* Complete after synchronize. [stream-ordered] */
  tn_status* (*copy_out)(void* self, uint32_t index, void* stream, void* buffer, uint64_t offset,
                         void* dst, uint64_t bytes);
  /* The ranges may overlap. [stream-ordered] */
  tn_status* (*copy_within)(void* self, uint32_t index, void* stream, void* src,
                            uint64_t src_offset, void* dst, uint64_t dst_offset, uint64_t bytes);
  /* Between two devices of this type, on the source's stream; optional. [stream-ordered] */
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
  /* A queue whose work runs in order. [thread-safe] */
  tn_status* (*create)(void* self, uint32_t index, void** stream);
  /* Of a stream with nothing left to do. [thread-safe] */
  void (*destroy)(void* self, void* stream);
  /* Waits for what was enqueued before the call; an asynchronous failure surfaces here. [thread-safe] */
  tn_status* (*synchronize)(void* self, void* stream);
  /* A mark in a stream, not yet recorded. [thread-safe] */
  tn_status* (*event_create)(void* self, uint32_t index, void** event);
  /* Of an event that no stream waits for. [thread-safe] */
  void (*event_destroy)(void* self, void* event);
  /* The event is done when all work before it is. [stream-ordered] */
  tn_status* (*event_record)(void* self, void* event, void* stream);
  /* Later work on the stream waits for the event, which another stream may have recorded. [stream-ordered] */
  tn_status* (*event_wait)(void* self, void* event, void* stream);
  /* *done: 1 when it was reached, or never recorded. Does not wait. [thread-safe] */
  tn_status* (*event_query)(void* self, void* event, uint32_t* done);
  /* Waits until the event was reached. [thread-safe] */
  tn_status* (*event_synchronize)(void* self, void* event);
  /* Time on the device between two events that were reached. [thread-safe] */
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
