/* Records a device's work once and replays it as a whole, so that the host's cost of each op is paid once. Works for devices whose
   plugin offers tn.capture (tenon/ext/draft/capture.h). Since 1.1.

   Every replay repeats what the host decided while recording: shapes, numbers among the operands (a learning rate), which ops run.
   Random numbers are drawn anew from the default generator, as if the ops were called again. While a thread records, these fail with
   TN_FAILED_PRECONDITION: reading elements, copies from or to the host or another device, results whose shape depends on data, draws
   from other generators, and optimizer steps that count. */
#ifndef TENON_CAPTURE_H
#define TENON_CAPTURE_H

#include "tenon/value.h"

TN_EXTERN_C_BEGIN

/* A recording, later a graph. Use it from one thread at a time. It keeps the memory of tensors made while recording for as long as it
   lives; older tensors are the program's to keep. */
typedef struct tn_graph tn_graph;

/* The caller sets struct_size; no field beyond it is filled. */
typedef struct tn_graph_stats {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t nodes; /* kernels, copies and fills */
  uint64_t bytes; /* device memory that it keeps, including its results */
} tn_graph_stats;

/* 1 if the device's work can be recorded. [thread-safe] */
TN_API uint32_t tn_graph_supported(tn_device* device);
/* From now on records what this thread enqueues on the device; none of it runs. Other threads are not affected. The caller owns *out.
   Errors: TN_UNIMPLEMENTED, with the device types that can record; TN_FAILED_PRECONDITION: this thread already records. [thread-safe] */
TN_API tn_status* tn_graph_begin(tn_device* device, tn_graph** out);
/* Ends the recording, on the thread that began it. After an error only the handle is left. Errors: TN_FAILED_PRECONDITION: it has ended,
   or another thread records; errors of the device. [thread-safe] */
TN_API tn_status* tn_graph_end(tn_graph* graph);
/* Enqueues the graph, in order with the device's other work. Errors: TN_FAILED_PRECONDITION: nothing was recorded, or this thread
   records. [thread-safe] */
TN_API tn_status* tn_graph_replay(tn_graph* graph);
/* What was recorded; zeros before its end. [thread-safe] */
TN_API tn_status* tn_graph_get_stats(const tn_graph* graph, tn_graph_stats* out);
/* Waits for its replays and frees it. Drops a recording that has not ended. NULL is allowed. [thread-safe] */
TN_API void tn_graph_release(tn_graph* graph);

TN_EXTERN_C_END
#endif
