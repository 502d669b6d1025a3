/* Memory of a device that other libraries use: what DLPack calls it, and how their queues and the device's streams wait for each other.
   A draft: it may change between minors, and is no part of what 1.x promises. See docs/sdk/dlpack.md. */
#ifndef TENON_EXT_DRAFT_DLPACK_H
#define TENON_EXT_DRAFT_DLPACK_H

#include "tenon/value.h"

#define TN_DLPACK_NAME "tn.dlpack"
#define TN_DLPACK_REVISION 1u

/* What a backend offers by get_interface("tn.dlpack", 1), if its addresses (tn_memory_table.allocate) are those that other libraries
   use. It has static storage and is completed by nobody: every slot is there. */
typedef struct tn_dlpack {
  uint32_t struct_size;
  uint32_t flags;
  tn_str device_type; /* whose devices these are */
  void* self;
  int32_t
      kind; /* DLPack's DLDeviceType: 2 for CUDA, 10 for ROCm, 12 for what has no type of its own */
  uint32_t reserved;
  /* DLPack's id of the device. [thread-safe] */
  int32_t (*device_id)(void* self, uint32_t index);
  /* What kernels get as `buffer` for somebody else's memory on the device, which begins at `address`.
     Errors: TN_INVALID_ARGUMENT: there is no memory of the device. [thread-safe] */
  tn_status* (*adopt)(void* self, uint32_t index, void* address, void** buffer);
  /* The stream as other libraries know it: what a program gives __dlpack__(stream=...). [thread-safe] */
  tn_status* (*queue_of)(void* self, void* stream, int64_t* queue);
  /* What is enqueued on another library's queue from now on waits for what has been enqueued on the stream. NULL: its default queue.
     Errors: TN_INVALID_ARGUMENT: there is no such queue. [stream-ordered] */
  tn_status* (*precede)(void* self, uint32_t index, void* stream, const int64_t* queue);
} tn_dlpack;

#endif
