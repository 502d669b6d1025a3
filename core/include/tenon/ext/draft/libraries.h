/* A vendor's libraries that a backend computes with, and where it found them. A draft: it may change between minors, and is no part of
   what 1.x promises.
   A plugin offers it by get_interface("tn.libraries", 1). It belongs to the library, so `state` may be NULL. */
#ifndef TENON_EXT_DRAFT_LIBRARIES_H
#define TENON_EXT_DRAFT_LIBRARIES_H

#include "tenon/base.h"

#define TN_LIBRARIES_NAME "tn.libraries"
#define TN_LIBRARIES_REVISION 1u

/* tn_library_info.state */
#define TN_LIBRARY_USED 0u
#define TN_LIBRARY_MISSING 1u /* or forbidden: `reason` says which */

/* Strings are valid during the call that gets them. */
typedef struct tn_library_info {
  uint32_t struct_size;
  uint32_t state;
  tn_str name;    /* as people call it: "cuDNN" */
  tn_str version; /* empty where it does not say */
  tn_str path;    /* of the file; empty where there is none */
  tn_str reason;  /* why it is not used */
} tn_library_info;
typedef void (*tn_library_fn)(void* ctx, const tn_library_info* info);

typedef struct tn_libraries {
  uint32_t struct_size;
  uint32_t flags;
  /* Tells each of them, opened where it was not yet: that can take a second. [thread-safe] */
  tn_status* (*tell)(tn_library_fn tell, void* ctx);
} tn_libraries;

#endif
