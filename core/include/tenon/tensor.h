/* Tensors: strided n-d arrays on a device. Reference-counted, opaque. Any thread may use a handle; if one thread writes to a tensor that
   others use, the caller must order the accesses. */
#ifndef TENON_TENSOR_H
#define TENON_TENSOR_H

#include "tenon/value.h"

TN_EXTERN_C_BEGIN

/* Adds a reference and returns its argument; NULL is allowed. [thread-safe] */
TN_API tn_tensor* tn_tensor_retain(tn_tensor* tensor);
/* Drops a reference. The last one frees tensor, storage and graph, without recursion. NULL is allowed. [thread-safe] */
TN_API void tn_tensor_release(tn_tensor* tensor);

/* A tensor with undefined elements on `device` (NULL: the host). The caller owns *out.
   Errors: TN_INVALID_ARGUMENT (negative size, ndim > TN_MAX_DIMS, overflow), TN_OUT_OF_MEMORY. [thread-safe] */
TN_API tn_status* tn_tensor_empty(tn_dtype dtype, uint32_t ndim, const int64_t* shape,
                                  tn_device* device, tn_tensor** out);
/* Copies `bytes` row-major bytes from host memory into a new tensor. Errors: also when bytes ≠ the tensor's size. [thread-safe] */
TN_API tn_status* tn_tensor_from_host(const void* data, uint64_t bytes, tn_dtype dtype,
                                      uint32_t ndim, const int64_t* shape, tn_device* device,
                                      tn_tensor** out);
/* Wraps host memory without a copy. `strides` count elements; NULL for row-major. `release(ctx)` runs once on the thread that frees the
   storage; it may be NULL. It is not called on an error. [thread-safe] */
TN_API tn_status* tn_tensor_wrap_host(void* data, tn_dtype dtype, uint32_t ndim,
                                      const int64_t* shape, const int64_t* strides,
                                      void (*release)(void* ctx), void* ctx, tn_tensor** out);
/* Waits for the device, then copies the elements row-major to host memory. Errors: bytes ≠ the tensor's size. [thread-safe] */
TN_API tn_status* tn_tensor_to_host(const tn_tensor* tensor, void* data, uint64_t bytes);

/* Its element type. [thread-safe] */
TN_API tn_dtype tn_tensor_dtype(const tn_tensor* tensor);
/* Number of dimensions. [thread-safe] */
TN_API uint32_t tn_tensor_ndim(const tn_tensor* tensor);
/* `ndim` sizes, valid while the tensor lives. [thread-safe] */
TN_API const int64_t* tn_tensor_shape(const tn_tensor* tensor);
/* `ndim` strides in elements, valid while the tensor lives. [thread-safe] */
TN_API const int64_t* tn_tensor_strides(const tn_tensor* tensor);
/* Number of elements. [thread-safe] */
TN_API int64_t tn_tensor_numel(const tn_tensor* tensor);
/* Borrowed; never NULL. [thread-safe] */
TN_API tn_device* tn_tensor_device(const tn_tensor* tensor);
/* The first element; NULL if the host cannot address the device's memory, or if the storage was released. Wait for the device before you
   read. Do not write to memory that was imported as read-only. tn_tensor_version does not notice writes through the pointer.
   [thread-safe] */
TN_API void* tn_tensor_data(const tn_tensor* tensor);
/* 1 if row-major without gaps. [thread-safe] */
TN_API uint32_t tn_tensor_is_contiguous(const tn_tensor* tensor);
/* 1 if both share storage. [thread-safe] */
TN_API uint32_t tn_tensor_shares_storage(const tn_tensor* a, const tn_tensor* b);
/* How often the storage was written in place, for autograd. [thread-safe] */
TN_API uint32_t tn_tensor_version(const tn_tensor* tensor);
/* The tensor's own view, valid while the tensor lives. [thread-safe] */
TN_API const tn_view* tn_tensor_view(const tn_tensor* tensor);

/* ---- Storage that goes and comes back. Since 1.1 ----
   Offloading and sharded training free the bytes of tensors that they need later, and keep the tensors. */

/* From now on the storage knows the tensors that show it, as it has to when its bytes move. It must be nobody else's yet: call it
   before views are made or a gradient keeps the tensor. Later calls do nothing.
   Errors: TN_FAILED_PRECONDITION: others show it already, or the memory was wrapped. Since 1.1. [thread-safe] */
TN_API tn_status* tn_storage_track(tn_tensor* tensor);
/* Frees the bytes of a tensor's storage; tracks it first. All tensors that show it keep dtype, shape, strides, device and history, and
   views can be made of them, but what reads or writes an element fails with TN_FAILED_PRECONDITION. Nobody may be using them. Work
   on the device's stream that was enqueued before is done with the bytes in time. Does nothing where they are gone already.
   Errors: as of tn_storage_track; TN_FAILED_PRECONDITION while the thread captures a graph of the device. Since 1.1. [thread-safe] */
TN_API tn_status* tn_storage_release(tn_tensor* tensor);
/* Gives the storage bytes again, which are undefined, and calls fill(ctx, tensor) to fill them. What `fill` writes counts as what was
   there: a gradient that keeps the tensor goes on. Without `fill` (NULL) it counts as a change. `fill` fails: the bytes go again.
   Errors: TN_FAILED_PRECONDITION: it was not released; TN_OUT_OF_MEMORY; those of `fill`. Since 1.1. [thread-safe] */
TN_API tn_status* tn_storage_restore(tn_tensor* tensor,
                                     tn_status* (*fill)(void* ctx, tn_tensor* tensor), void* ctx);

/* Writes the tensor as NumPy prints it, through `write`. Errors: from copying to the host. [thread-safe] */
TN_API tn_status* tn_tensor_print(const tn_tensor* tensor, tn_write_fn write, void* ctx);

/* DLPack 1.x, without a copy. The structs are those of dlpack.h. */
struct DLManagedTensorVersioned;
/* Exports; *out holds a reference until its deleter is called. Errors: TN_UNIMPLEMENTED for a device DLPack has no code for,
   TN_FAILED_PRECONDITION for a tensor that requires a gradient (detach it first). [thread-safe] */
TN_API tn_status* tn_tensor_to_dlpack(tn_tensor* tensor, struct DLManagedTensorVersioned** out);
/* Imports and takes ownership of `managed` on success only. Errors: TN_INVALID_ARGUMENT (major version, dtype, lanes),
   TN_UNIMPLEMENTED (device). Read-only input becomes a tensor that refuses in-place ops. [thread-safe] */
TN_API tn_status* tn_tensor_from_dlpack(struct DLManagedTensorVersioned* managed, tn_tensor** out);

TN_EXTERN_C_END
#endif
