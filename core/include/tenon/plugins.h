/* Finding, loading and quiescing plugins, from the host's side. */
#ifndef TENON_PLUGINS_H
#define TENON_PLUGINS_H

#include "tenon/base.h"

/* tn_plugin_info.state */
#define TN_PLUGIN_LOADED 0u
#define TN_PLUGIN_REFUSED 1u  /* `reason` says why */
#define TN_PLUGIN_QUIESCED 2u /* its kernels and devices were taken out */

/* Filled up to struct_size, which the caller sets. Strings live as long as the process. */
typedef struct tn_plugin_info {
  uint32_t struct_size;
  uint32_t state;
  tn_str id;      /* "cpu" */
  tn_str version; /* "0.1.0" */
  tn_str path;    /* of the library or of its card */
  tn_str reason;  /* why refused, or why it offers no device; may be empty */
  uint32_t kernel_count;
  uint32_t device_count;
} tn_plugin_info;

TN_EXTERN_C_BEGIN

/* Scans TENON_PLUGIN_PATH, the user's directory, the directory next to libtenon and
   the system's, and loads what fits. Each place is scanned once per process; ops
   and tn_device_count() do it on first use. A refused plugin is no error: look at
   the infos. [thread-safe] */
TN_API tn_status* tn_plugins_discover(void);
/* Loads one library, or the library of a card, by path. Errors: the reason of the refusal. [thread-safe] */
TN_API tn_status* tn_plugin_load(tn_str path);
/* Drains the plugin's streams and takes out its kernels and devices. Errors: TN_NOT_FOUND; TN_FAILED_PRECONDITION while
   tensors live on its devices. [thread-safe] */
TN_API tn_status* tn_plugin_quiesce(tn_str id);
/* Every plugin seen so far, refused ones included. [thread-safe] */
TN_API uint32_t tn_plugin_count(void);
/* Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_plugin_get_info(uint32_t index, tn_plugin_info* out);
/* An optional interface of a loaded plugin, whether it owns a device or not ("acme.autocast", 1). *out has static storage; what its
   functions do once the plugin was quiesced is for the interface to say.
   Errors: TN_NOT_FOUND: no plugin of that id is loaded, or it offers no such interface. Since 1.1. [thread-safe] */
TN_API tn_status* tn_plugin_interface(tn_str id, tn_str name, uint32_t revision, const void** out);

TN_EXTERN_C_END
#endif
