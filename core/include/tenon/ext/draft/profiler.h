/* What a backend tells a profiler: when its devices ran what a thread enqueued, and when that thread waited for them. A draft: it
   may change between minors, and is no part of what 1.x promises.
   A plugin offers it by get_interface("tn.profiler", 1). It belongs to the library, so `state` may be NULL. */
#ifndef TENON_EXT_DRAFT_PROFILER_H
#define TENON_EXT_DRAFT_PROFILER_H

#include "tenon/base.h"

#define TN_PROFILER_NAME "tn.profiler"
#define TN_PROFILER_REVISION 1u

/* tn_profiler_span.kind */
#define TN_PROFILER_RAN 0u /* on the device; times are of its clock */
#define TN_PROFILER_WAITED \
  1u /* the thread, for the device; times are of the host's monotonic clock */

/* Strings have static storage. */
typedef struct tn_profiler_span {
  uint32_t struct_size;
  uint32_t kind;
  uint32_t device_index;
  uint32_t reserved;
  uint64_t tag; /* as `tag` set it when this was enqueued; 0 where nothing did */
  tn_str op;    /* whose kernel it is; empty for copies that no kernel makes */
  tn_str what;  /* what ran: a shader, "copy in" */
  double start; /* seconds */
  double end;
  uint64_t
      bytes; /* that the call's operands and results hold, those it both reads and writes twice; told with the call's first span */
} tn_profiler_span;

typedef struct tn_profiler {
  uint32_t struct_size;
  uint32_t flags;
  tn_str device_type;
  /* Begins to note what the calling thread does. Errors: TN_FAILED_PRECONDITION where it is noted already. [thread-safe] */
  tn_status* (*start)(void); /* NOLINT(modernize-redundant-void-arg): C */
  /* What the calling thread enqueues from now on belongs to `tag`; returns the one before. [thread-safe] */
  uint64_t (*tag)(uint64_t tag);
  /* Ends it, waits for the devices and tells every span, those of one device in the order in which it ran them. `tell` may be NULL.
     On the thread of start. Errors: from waiting; spans are told all the same. [thread-safe] */
  tn_status* (*stop)(void (*tell)(void* ctx, const tn_profiler_span* span), void* ctx);
} tn_profiler;

#endif
