/* What layers over calls (tn_call_layer) and recordings of calls need to know of each other. A draft: it may change between minors, and
   is no part of what 1.x promises. */
#ifndef TENON_EXT_DRAFT_CALL_LAYERS_H
#define TENON_EXT_DRAFT_CALL_LAYERS_H

#include "tenon/device.h"

/* For get_interface("tn.stand_in", 1) of a plugin whose tensors stand for those of another device while a thread's calls are recorded.
   It has static storage. */
#define TN_STAND_IN_NAME "tn.stand_in"
#define TN_STAND_IN_REVISION 1u
typedef struct tn_stand_in {
  uint32_t struct_size;
  uint32_t flags;
  /* The device that they stand for on this thread; NULL: none. [thread-safe] */
  const tn_device* (*device)(void); /* NOLINT(modernize-redundant-void-arg): C */
} tn_stand_in;

TN_EXTERN_C_BEGIN

/* From now on only the `n` oldest of the calling thread's layers see its calls; returns how many did until now, which is given back
   afterwards. Calls that were recorded below the layers are made again with 0. Meanwhile no layer is pushed or popped. [thread-safe] */
TN_API uint32_t tn_call_layers_show(uint32_t n);

TN_EXTERN_C_END
#endif
