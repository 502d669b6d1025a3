/* Finds, loads and quiesces plugins; for host programs. */
#ifndef TENON_PLUGINS_H
#define TENON_PLUGINS_H

#include "tenon/base.h"

/* tn_plugin_info.state */
#define TN_PLUGIN_LOADED 0u
#define TN_PLUGIN_REFUSED 1u  /* `reason` says why */
#define TN_PLUGIN_QUIESCED 2u /* its kernels and devices were removed */

/* The caller sets struct_size; no field beyond it is filled. Strings live as long as the process. */
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

/* Scans TENON_PLUGIN_PATH, the user's directory, the directory next to libtenon and the system's, and loads what fits. Each is scanned
   once per process; the first use of ops or tn_device_count() does this anyway. Refusing a plugin is not an error: see the infos.
   [thread-safe] */
TN_API tn_status* tn_plugins_discover(void);
/* Loads a library, by its path or that of its card. Errors: the reason why it is refused. [thread-safe] */
TN_API tn_status* tn_plugin_load(tn_str path);
/* Drains the plugin's streams and removes its kernels and devices. Errors: TN_NOT_FOUND; TN_FAILED_PRECONDITION while tensors live on
   its devices. [thread-safe] */
TN_API tn_status* tn_plugin_quiesce(tn_str id);
/* Every plugin seen so far, refused ones included. [thread-safe] */
TN_API uint32_t tn_plugin_count(void);
/* Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_plugin_get_info(uint32_t index, tn_plugin_info* out);
/* An optional interface of a loaded plugin ("acme.autocast", 1), with or without a device. *out has static storage; the interface
   defines what its functions do after the plugin was quiesced. Errors: TN_NOT_FOUND: no plugin with that id is loaded, or it does not
   offer the interface. Since 1.1. [thread-safe] */
TN_API tn_status* tn_plugin_interface(tn_str id, tn_str name, uint32_t revision, const void** out);

TN_EXTERN_C_END
#endif
