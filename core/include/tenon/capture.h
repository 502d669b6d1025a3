/* Work of a device recorded once and replayed as one piece: what each op costs on the host is paid once. Devices whose plugin offers
   tn.capture (tenon/ext/draft/capture.h) can do it. Since 1.1.

   Decided by the host, and so the same at every replay: shapes, numbers among the operands (a learning rate), which ops run. Random
   numbers are drawn anew by each replay, from the default generator, as if the ops had been called then.
   Refused while a thread records, with TN_FAILED_PRECONDITION: reading elements, copies from or to the host or another device,
   results whose shape depends on data, draws from other generators, steps of an optimizer that count. */
#ifndef TENON_CAPTURE_H
#define TENON_CAPTURE_H

#include "tenon/value.h"

TN_EXTERN_C_BEGIN

/* A recording, then a graph. Used from one thread at a time. Memory that its work uses, of tensors that were made while it was
   recorded, is not given to others as long as it lives; tensors from before are the program's to keep. */
typedef struct tn_graph tn_graph;

/* Filled up to struct_size, which the caller sets. */
typedef struct tn_graph_stats {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t nodes; /* pieces of work: kernels, copies, fills */
  uint64_t bytes; /* on the device that it keeps, those of its results included */
} tn_graph_stats;

/* 1 when the device's work can be recorded. [thread-safe] */
TN_API uint32_t tn_graph_supported(tn_device* device);
/* From now on what this thread enqueues on the device is recorded; none of it runs. Other threads are not affected. The caller owns
   *out. Errors: TN_UNIMPLEMENTED, with the device types that can; TN_FAILED_PRECONDITION where this thread records already.
   [thread-safe] */
TN_API tn_status* tn_graph_begin(tn_device* device, tn_graph** out);
/* Ends the recording, on the thread that began; after an error nothing is left of it but the handle. Errors: TN_FAILED_PRECONDITION:
   it has ended, or another thread records; what the device found wrong. [thread-safe] */
TN_API tn_status* tn_graph_end(tn_graph* graph);
/* Enqueues all of it, in order with the device's other work. Errors: TN_FAILED_PRECONDITION:
   nothing was recorded, or this thread records. [thread-safe] */
TN_API tn_status* tn_graph_replay(tn_graph* graph);
/* What was recorded; zeros before its end. [thread-safe] */
TN_API tn_status* tn_graph_get_stats(const tn_graph* graph, tn_graph_stats* out);
/* Waits for its replays and frees it; a recording that has not ended is dropped. NULL is allowed. [thread-safe] */
TN_API void tn_graph_release(tn_graph* graph);

TN_EXTERN_C_END
#endif
