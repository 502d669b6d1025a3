/* What an op's arguments look like when they cross the ABI. Both layouts here are frozen (tn_value) or append-only. */
#ifndef TENON_VALUE_H
#define TENON_VALUE_H

#include "tenon/dtype.h"

#define TN_MAX_DIMS 16 /* frozen */

typedef struct tn_tensor tn_tensor;
typedef struct tn_device tn_device;
typedef struct tn_generator tn_generator;
typedef struct tn_op tn_op;

/* tn_view.flags */
#define TN_VIEW_SCALAR \
  1u /* one host value in `scalar`: `data` points at it, every stride is 0, `buffer` is NULL */
#define TN_VIEW_CONTIGUOUS 2u /* row-major without gaps */
#define TN_VIEW_RELEASED \
  4u /* of a tensor whose storage was released: no elements. Kernels never see it. Since 1.1 */

/* A strided array in device memory, as a kernel sees it. */
typedef struct tn_view {
  uint32_t struct_size;
  tn_dtype dtype;
  uint32_t ndim;
  uint32_t flags;
  void* data;             /* first element, where device memory is addressable; NULL otherwise */
  const int64_t* shape;   /* ndim sizes */
  const int64_t* strides; /* ndim strides in elements; 0 broadcasts, negative reverses */
  void* buffer;           /* the plugin's buffer handle */
  int64_t offset;         /* bytes from the start of the buffer to the first element */
  unsigned char scalar[16];
} tn_view;

/* Tags of tn_value. Frozen. */
#define TN_VALUE_NONE 0u
#define TN_VALUE_BOOL 1u   /* i: 0 or 1 */
#define TN_VALUE_INT 2u    /* i */
#define TN_VALUE_FLOAT 3u  /* f */
#define TN_VALUE_STR 4u    /* str, count bytes */
#define TN_VALUE_INTS 5u   /* ints, count of them */
#define TN_VALUE_FLOATS 6u /* floats, count of them; a complex scalar is two */
#define TN_VALUE_TENSOR 7u /* tensor (host side) */
#define TN_VALUE_TENSORS \
  8u /* tensors, count of them; an entry may be NULL where the schema says Tensor?[] */
#define TN_VALUE_VIEW 9u    /* view (kernel side) */
#define TN_VALUE_VIEWS 10u  /* views, count of them (kernel side) */
#define TN_VALUE_DTYPE 11u  /* i: a tn_dtype */
#define TN_VALUE_DEVICE 12u /* device (host side) */
#define TN_VALUE_GENERATOR \
  13u /* generator (host side); a kernel gets TN_VALUE_INTS {seed, offset} in its place */
#define TN_VALUE_COMPLEX 14u /* floats: real, imaginary */

/* One argument: 16 bytes, frozen. What it points at is borrowed for the call. */
typedef struct tn_value {
  uint32_t tag;
  uint32_t count;
  union {
    int64_t i;
    double f;
    const char* str;
    const int64_t* ints;
    const double* floats;
    tn_tensor* tensor;
    tn_tensor* const* tensors;
    const tn_view* view;
    const tn_view* const* views;
    tn_device* device;
    tn_generator* generator;
    const void* pointer;
  } as;
} tn_value;
TN_STATIC_ASSERT(sizeof(tn_value) == 16, "arrays of tn_value cross the ABI without a stride");

#endif
