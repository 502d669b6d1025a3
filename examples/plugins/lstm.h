/* The interface that examples/plugins/lstm.c offers beside its ops. Programs get it with
   tn_plugin_interface("com.acme.lstm", "acme.autocast", 1). */
#ifndef ACME_LSTM_H
#define ACME_LSTM_H

#include "tenon/base.h"

/* From begin to end the calling thread computes products of f32 tensors in bf16; the results are f32. [thread-safe] */
typedef struct acme_autocast {
  uint32_t struct_size;
  uint32_t reserved;
  tn_status* (*begin)(void); /* NOLINT(modernize-redundant-void-arg): C */
  tn_status* (*end)(void);   /* NOLINT(modernize-redundant-void-arg): C */
} acme_autocast;

#endif
