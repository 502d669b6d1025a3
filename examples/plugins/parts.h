/* The interface that examples/plugins/parts.c offers beside its ops. A program gets it by
   tn_plugin_interface("com.acme.parts", "acme.offload", 1). */
#ifndef ACME_PARTS_H
#define ACME_PARTS_H

#include "tenon/tensor.h"

/* Moves the elements of a tensor to another device, and back; meanwhile its own memory is free. [thread-safe] */
typedef struct acme_offload {
  uint32_t struct_size;
  uint32_t reserved;
  /* While the tensor is new: before views are made of it. */
  tn_status* (*watch)(tn_tensor* tensor);
  /* *copy is the caller's, on the device `to`. */
  tn_status* (*away)(tn_tensor* tensor, tn_device* to, tn_tensor** copy);
  /* `device` is the tensor's. */
  tn_status* (*back)(tn_tensor* tensor, tn_device* device, tn_tensor* copy);
} acme_offload;

#endif
