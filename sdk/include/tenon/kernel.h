/* Conveniences for plugins in C, which each would otherwise write again. Inline only; C++ has tenon/plugin.hpp. */
#ifndef TENON_SDK_KERNEL_H
#define TENON_SDK_KERNEL_H

#include <string.h>

#include "tenon/plugin.h"

/* Initializer of a tn_str from a literal: tn_str name = TN_STR("acme"); as an argument (tn_str)TN_STR("acme"). */
#define TN_STR(text) \
  { text, sizeof(text) - 1 }

/* A status with a message, which is copied. The caller owns it. [thread-safe] */
static inline tn_status* tn_error(const tn_host* host, uint32_t code, const char* message) {
  tn_str text;
  text.data = message;
  text.size = strlen(message);
  return host->make_status(code, text);
}

/* Arguments of op_call: a tensor, which stays borrowed, an integer, a number. [thread-safe] */
static inline tn_value tn_tensor_value(tn_tensor* tensor) {
  tn_value value = {TN_VALUE_TENSOR, 0, {0}};
  value.as.tensor = tensor;
  return value;
}
static inline tn_value tn_int_value(int64_t integer) {
  tn_value value = {TN_VALUE_INT, 0, {0}};
  value.as.i = integer;
  return value;
}
static inline tn_value tn_float_value(double number) {
  tn_value value = {TN_VALUE_FLOAT, 0, {0}};
  value.as.f = number;
  return value;
}

/* Number of elements of a view; 1 for rank 0. [thread-safe] */
static inline int64_t tn_view_numel(const tn_view* view) {
  int64_t count = 1;
  for (uint32_t d = 0; d < view->ndim; ++d) count *= view->shape[d];
  return count;
}

/* For tn_kernel.supports: accepts a call if a kernel may walk flat arrays, that is if the operands of an elementwise op lie
   without gaps, loop->shape[0] elements each, and for every op without a loop, whose inputs arrive contiguous. [thread-safe] */
static inline tn_status* tn_supports_dense(void* self, const tn_call* call, uint32_t* yes) {
  (void)self;
  *yes = call->loop == NULL || (call->flags & TN_CALL_CONTIGUOUS) != 0;
  return NULL;
}

/* Where element i of an elementwise call lies in operand k (the outputs, then the tensor inputs), in elements from its first.
   For kernels that take any layout: y[tn_at(loop, 0, i)] = f(x[tn_at(loop, 1, i)]). [thread-safe] */
static inline int64_t tn_at(const tn_loop* loop, uint32_t k, int64_t i) {
  int64_t offset = 0;
  for (uint32_t d = loop->ndim; d-- > 0; i /= loop->shape[d])
    offset += i % loop->shape[d] * loop->strides[k][d];
  return offset;
}

#endif
