/* The memory of a tensor, read as elements of another dtype. */
#ifndef TENON_REINTERPRET_H
#define TENON_REINTERPRET_H

#include "tenon/value.h"

TN_EXTERN_C_BEGIN

/* A tensor over the same memory, on any device: the bytes from `offset` on as elements of `dtype`. `offset` counts from the tensor's
   first element and may be negative; `strides` count new elements (NULL: row-major). It shares storage and version, and has no history.
   Errors: TN_INVALID_ARGUMENT: dtype, shape, alignment; what lies before the storage's first byte or behind the last one that `tensor`
   shows; bytes that are no bools, which are read and looked at. Since 1.1. [thread-safe] */
TN_API tn_status* tn_tensor_reinterpret(const tn_tensor* tensor, tn_dtype dtype, uint32_t ndim,
                                        const int64_t* shape, const int64_t* strides,
                                        int64_t offset, tn_tensor** out);

TN_EXTERN_C_END
#endif
