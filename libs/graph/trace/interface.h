/* Between libtenon_graph and the plugin of the device trace:0, which has no elements: its kernels tell a sink what they were asked to
   compute, and compute nothing. Both are built together; this is no part of the SDK. */
#ifndef TENON_GRAPH_TRACE_INTERFACE_H
#define TENON_GRAPH_TRACE_INTERFACE_H

#include "tenon/ext/draft/dispatch.h"

#define TN_TRACE_ID "trace"
#define TN_TRACE_NAME "tn.trace"
#define TN_TRACE_REVISION 2u

/* Who listens, on the thread that began. Buffers are numbers that are never used twice. */
typedef struct tn_trace_sink {
  void* ctx;
  void (*allocated)(void* ctx, uint64_t buffer);
  /* `kernel` is the target's that would take the call; NULL where there is none, or no target. */
  tn_status* (*called)(void* ctx, const tn_op* op, const tn_call* call, const tn_kernel* kernel);
  tn_status* (*copied_in)(void* ctx, const void* src, uint64_t buffer, uint64_t offset,
                          uint64_t bytes);
  /* An element of the buffer is asked for: the error, which says of what. */
  tn_status* (*read)(void* ctx, uint64_t buffer);
} tn_trace_sink;

typedef struct tn_trace_table {
  const tn_dispatch* dispatch;
  /* From now on this thread's calls on trace:0 go to the sink. With a target calls take the form that its kernels want: what has none
     there arrives as the ops that it is decomposed into. Without, every op arrives as it is. NULL for the sink ends it. */
  void (*listen)(const tn_trace_sink* sink, tn_device* target);
} tn_trace_table;

#endif
