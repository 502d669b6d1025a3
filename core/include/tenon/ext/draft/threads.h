/* How many threads a program computes on at once. A draft: it may change between minors, and is no part of what 1.x promises. */
#ifndef TENON_EXT_DRAFT_THREADS_H
#define TENON_EXT_DRAFT_THREADS_H

#include "tenon/base.h"

#define TN_THREADS_NAME "tn.threads"
#define TN_THREADS_REVISION 1u
#define TN_THREADS_MOST 1024u

/* What the host offers its plugins by get_interface("tn.threads", 1); it has static storage. A plugin that computes on the host asks
   before each parallel loop, so that a new number holds at once. */
typedef struct tn_threads {
  uint32_t struct_size;
  uint32_t flags;
  /* The most threads that a loop may run on, the calling one included: at least 1, at most TN_THREADS_MOST. [thread-safe] */
  uint32_t (*limit)(void); /* NOLINT(modernize-redundant-void-arg): C */
} tn_threads;

TN_EXTERN_C_BEGIN

/* The most threads that an op computes on, the calling one included. At first TENON_NUM_THREADS, else OMP_NUM_THREADS, else how many
   cores the process may use; 1 in a child of fork(). [thread-safe] */
TN_API uint32_t tn_num_threads(void); /* NOLINT(modernize-redundant-void-arg): C */
/* Holds for every loop that begins from now on, on whichever thread. Plans that a plugin has prepared may keep their number.
   Errors: TN_INVALID_ARGUMENT where n is not in [1, TN_THREADS_MOST]. [thread-safe] */
TN_API tn_status* tn_set_num_threads(int64_t n);

TN_EXTERN_C_END
#endif
