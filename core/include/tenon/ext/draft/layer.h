/* A layer between the core and its plugins: it sees every table that crosses and may put its own functions in the place of a
   plugin's. A draft: it may change between minors, and is no part of what 1.x promises. */
#ifndef TENON_EXT_DRAFT_LAYER_H
#define TENON_EXT_DRAFT_LAYER_H

#include "tenon/plugin.h"

/* tn_layer.phase */
#define TN_LAYER_STARTING 0u  /* its start is about to run, on this thread */
#define TN_LAYER_STARTED 1u   /* start returned, well or not */
#define TN_LAYER_QUIESCING 2u /* its devices are about to go */
#define TN_LAYER_GONE 3u      /* quiesce returned */

/* `plugin` is an id; the host's own device type comes from "core". Slots may be NULL. Tables that a layer puts in place live
   as long as the process. */
typedef struct tn_layer {
  uint32_t struct_size;
  uint32_t flags;
  /* The table that plugins get, for the core's own. Once, before all others. */
  const tn_host* (*host)(const tn_host* host);
  void (*phase)(tn_str plugin, uint32_t phase); /* [init] */
  /* *type is a copy of full size; its tables are the plugin's own, with its struct_size and its NULL slots. [init] */
  void (*device_type)(tn_str plugin, tn_device_type* type);
  /* Copies of full size. [init] */
  void (*kernel)(tn_str plugin, tn_str device, tn_kernel* kernel);
  void (*op)(tn_str plugin, tn_op_def* def);
} tn_layer;

TN_EXTERN_C_BEGIN

/* Puts a layer in place; it must be the first call of the process into libtenon. TENON_VALIDATE=1 does it with tenon_validate.so,
   which lies with the plugins. With a layer the allocator does not cache and every tensor has a block of exactly its size, so that
   the layer sees each of them. Errors: TN_FAILED_PRECONDITION when devices exist already; TN_INVALID_ARGUMENT. [init] */
TN_API tn_status* tn_layer_set(const tn_layer* layer);

TN_EXTERN_C_END

/* What tenon_validate.so exports; pure. *out has static storage. */
typedef tn_status* (*tn_layer_query_fn)(uint32_t host_major, uint32_t host_minor,
                                        const tn_layer** out);

#endif
