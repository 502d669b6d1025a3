/* A device as its plugin knows it, for what programs build on optional interfaces of plugins. A draft: it may change between minors,
   and is no part of what 1.x promises. */
#ifndef TENON_EXT_DRAFT_DEVICE_H
#define TENON_EXT_DRAFT_DEVICE_H

#include "tenon/backend.h"

/* Borrowed for the call that gets it; tables have static storage. */
typedef struct tn_extension {
  uint32_t struct_size;
  uint32_t index;    /* of the device, in the plugin's tables */
  const void* table; /* what the plugin gives for the name; NULL where it gives nothing */
  void* self;        /* of the device type's tables */
  const tn_stream_table* streams;
  void*
      stream; /* the device's default stream, with whose other work the call is in order; NULL where it has none */
} tn_extension;
typedef tn_status* (*tn_extend_fn)(void* ctx, const tn_extension* extension);

TN_EXTERN_C_BEGIN

/* Asks the device's plugin for an interface and hands it to `use`, on this thread, while no other one enqueues on the device.
   Errors: those of `use`; TN_INVALID_ARGUMENT for a NULL device; TN_FAILED_PRECONDITION where its plugin has gone. [thread-safe] */
TN_API tn_status* tn_device_extend(tn_device* device, tn_str name, uint32_t revision,
                                   tn_extend_fn use, void* ctx);
/* From now on the calling thread's work for the device goes to `stream`, one of its plugin's, and what it allocates there comes from
   the plugin and goes back to it without being kept between. One redirection a thread: a later call replaces it, NULL for the
   device ends it. [thread-safe] */
TN_API void tn_device_redirect(tn_device* device, void* stream);
/* The device for which the calling thread's work is redirected, or NULL. Borrowed. [thread-safe] */
TN_API tn_device* tn_device_redirected(void); /* NOLINT(modernize-redundant-void-arg): C */

TN_EXTERN_C_END
#endif
