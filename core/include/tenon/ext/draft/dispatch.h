/* What the dispatcher knows, for what runs calls that were recorded: ops, and the kernels that are in service for them. A draft: it may
   change between minors, and is no part of what 1.x promises. */
#ifndef TENON_EXT_DRAFT_DISPATCH_H
#define TENON_EXT_DRAFT_DISPATCH_H

#include "tenon/plugin.h"

#define TN_DISPATCH_NAME "tn.dispatch"
#define TN_DISPATCH_REVISION 1u

/* tn_device_type.flags: its devices are found by name alone; no list has them, and "auto" is none of them. */
#define TN_DEVICE_TYPE_UNLISTED 1u

/* What the host offers by get_interface("tn.dispatch", 1); it has static storage. */
typedef struct tn_dispatch {
  uint32_t struct_size;
  uint32_t flags;
  /* As tn_op_count. [thread-safe] */
  uint32_t (*op_count)(void); /* NOLINT(modernize-redundant-void-arg): C */
  /* As tn_op_at. [thread-safe] */
  const tn_op* (*op_at)(uint32_t index);
  /* As tn_op_schema. [thread-safe] */
  tn_str (*op_schema)(const tn_op* op);
  /* 1 when the op can be computed with others where it has no kernel. [thread-safe] */
  uint32_t (*decomposes)(const tn_op* op);
  /* The kernels of an op for a device and the dtype that kernels are found by, the best first: the one at an index, or NULL beyond
     them. Good as long as the epoch is what it was. [thread-safe] */
  const tn_kernel* (*kernel_at)(const tn_op* op, const tn_device* device, tn_dtype dtype,
                                uint32_t index);
  /* Grows whenever kernels come or go, or bytes of a tensor's storage do. [thread-safe] */
  uint64_t (*epoch)(void); /* NOLINT(modernize-redundant-void-arg): C */
  /* A flat view of `size` elements of a tensor's storage, from its first element on. The caller knows that they are there, and owns
     *out. [thread-safe] */
  tn_status* (*flat)(const tn_tensor* of, int64_t size, tn_tensor** out);
  /* Raises the version of a tensor that a kernel writes to without a call. 0: it is read-only, and must not be written. [thread-safe] */
  uint32_t (*wrote)(tn_tensor* tensor);
  /* `alias`, which has no history, becomes a leaf whose gradient is that of `leaf`, one that requires a gradient, on whatever device
     both lie. [thread-safe] */
  tn_status* (*share_gradient)(tn_tensor* alias, tn_tensor* leaf);
} tn_dispatch;

#endif
