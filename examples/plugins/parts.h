/* The interface that examples/plugins/parts.c offers beside its ops. Programs get it with
   tn_plugin_interface("com.acme.parts", "acme.offload", 1). */
#ifndef ACME_PARTS_H
#define ACME_PARTS_H

#include "tenon/tensor.h"

/* Moves a tensor's elements to another device and back; in between, its own memory is free. [thread-safe] */
typedef struct acme_offload {
  uint32_t struct_size;
  uint32_t reserved;
  /* Call while the tensor is new: before it has views. */
  tn_status* (*watch)(tn_tensor* tensor);
  /* *copy is on the device `to` and belongs to the caller. */
  tn_status* (*away)(tn_tensor* tensor, tn_device* to, tn_tensor** copy);
  /* `device` is the tensor's own. */
  tn_status* (*back)(tn_tensor* tensor, tn_device* device, tn_tensor* copy);
} acme_offload;

#endif
