/* Graphs of a device's work: what a thread enqueues is recorded once and launched as one piece from then on. A draft: it may change
   between minors, and is no part of what 1.x promises. tenon/capture.hpp builds on it for programs. */
#ifndef TENON_EXT_DRAFT_CAPTURE_H
#define TENON_EXT_DRAFT_CAPTURE_H

#include "tenon/base.h"

#define TN_CAPTURE_NAME "tn.capture"
#define TN_CAPTURE_REVISION 1u

/* Of a graph; filled up to struct_size, which the caller sets. */
typedef struct tn_capture_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t nodes; /* pieces of work */
  uint64_t bytes; /* of the device that it keeps, those of tensors that are still alive included */
} tn_capture_info;

/* What a backend offers by get_interface("tn.capture", 1). It has static storage and is completed by nobody: every slot is there.
   While a stream records,
   - what would wait for it, move bytes between it and the host or another device, or could not be replayed as it was fails with
     TN_FAILED_PRECONDITION and leaves the recording as it is;
   - what the recording thread allocates on the device belongs to the recording, which may hand it out again to that thread once it
     is freed. It goes back to the device when its graph has gone and it was freed, whichever comes last.
   Graphs are launched in order with other work on the stream they are launched on. */
typedef struct tn_capture {
  uint32_t struct_size;
  uint32_t flags;
  tn_str device_type; /* whose devices it captures */
  void* self;
  /* From now on what is enqueued on the stream is recorded; none of it runs. The stream outlives its graph, and nobody else uses it.
     (seed, offset): where the default generator is; what is drawn from others is refused.
     Errors: TN_FAILED_PRECONDITION where it records already. [stream-ordered] */
  tn_status* (*begin)(void* self, uint32_t index, void* stream, uint64_t seed, uint64_t offset);
  /* Ends it, also where it fails. *graph belongs to the caller. `graph` may be NULL: what was recorded is dropped. `info` may be NULL.
     On the thread of begin. [stream-ordered] */
  tn_status* (*end)(void* self, uint32_t index, void* stream, void** graph, tn_capture_info* info);
  /* Enqueues all of it on another stream of the device. A graph may be launched again before it is done. Random numbers are those
     that it would have drawn, had the default generator been at (seed, offset) when it began to record. [stream-ordered] */
  tn_status* (*launch)(void* self, void* graph, void* stream, uint64_t seed, uint64_t offset);
  /* Waits for its launches; what went wrong in them surfaces where their stream is next waited for. [thread-safe] */
  void (*destroy)(void* self, void* graph);
} tn_capture;

#endif
