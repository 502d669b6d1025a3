/* The interface between libtenon_graph and the plugin of trace:0, a device without memory: its kernels report each call to a sink and
   compute nothing. Both are built together, and this is not part of the SDK. */
#ifndef TENON_GRAPH_TRACE_INTERFACE_H
#define TENON_GRAPH_TRACE_INTERFACE_H

#include "tenon/ext/draft/dispatch.h"

#define TN_TRACE_ID "trace"
#define TN_TRACE_NAME "tn.trace"
#define TN_TRACE_REVISION 4u

/* The listener, on the thread that began. Numbers of buffers are never reused. */
typedef struct tn_trace_sink {
  void* ctx;
  void (*allocated)(void* ctx, uint64_t buffer);
  /* `kernel`: the target's kernel that would take this call, or NULL. */
  tn_status* (*called)(void* ctx, const tn_op* op, const tn_call* call, const tn_kernel* kernel);
  tn_status* (*copied_in)(void* ctx, const void* src, uint64_t buffer, uint64_t offset,
                          uint64_t bytes);
  /* Called when someone asks for an element of the buffer. Returns the error, which says what asked. */
  tn_status* (*read)(void* ctx, uint64_t buffer);
  /* Releases what these functions and kernels return: it is not the plugin's, and its host would say so under TENON_VALIDATE. */
  void (*release)(tn_status* status);
  const tn_device* stands_for; /* what its tensors stand for (tn_stand_in), or NULL */
} tn_trace_sink;

typedef struct tn_trace_table {
  const tn_dispatch* dispatch;
  /* From now on this thread's calls on trace:0 go to the sink. With a target, calls take the form that its kernels want, and ops without
     a kernel there arrive decomposed. Without a target every op arrives as it is. A NULL sink ends this. */
  void (*listen)(const tn_trace_sink* sink, tn_device* target);
} tn_trace_table;

#endif
