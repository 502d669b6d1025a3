/* Looks at what autograd recorded, for tools that draw or search it. */
#ifndef TENON_HISTORY_H
#define TENON_HISTORY_H

#include "tenon/autograd.h"

TN_EXTERN_C_BEGIN

/* A step of a history: a recorded call of an op or of a custom function, or a leaf. The caller sets struct_size; no field beyond it is
   filled. */
typedef struct tn_step {
  uint32_t struct_size;
  uint32_t result; /* which of the call's results the tensor is */
  uint64_t id; /* the same for all results of a call; no other step has it while this one lives */
  uint32_t
      operands; /* tensors among the call's arguments, the entries of lists included; 0 for a leaf */
  uint32_t reserved;
} tn_step;
/* Describes the step that made the tensor. places[0] gets a tensor that stands for this one in the history, and places[1 + i] one for
   operand i, or NULL if no gradient flows to it: new references, `capacity` of them at most; `places` may be NULL if that is 0. A leaf
   stands for itself while it lives. The others have the shape, dtype, device and history of what they stand for, zeros for elements, and
   keep the step alive; if the step is of a leaf that is gone, tn_tensor_grad_fn_name() is "leaf". Errors: TN_FAILED_PRECONDITION: the tensor requires no gradient. Since 1.1. [thread-safe] */
TN_API tn_status* tn_tensor_step(const tn_tensor* tensor, tn_step* step, tn_tensor** places,
                                 uint32_t capacity);

/* A tensor that a step keeps for its gradient. The caller sets struct_size; no field beyond it is filled. */
typedef struct tn_saved {
  uint32_t struct_size;
  uint32_t entry;    /* in the list, where the argument is one */
  tn_str name;       /* of the argument or the result; as long as the op */
  tn_tensor* tensor; /* a new reference, with its history; NULL beyond the last */
} tn_saved;
/* Number `index` of what the step that made the tensor keeps. Leaves and custom functions keep nothing here. Errors:
   TN_FAILED_PRECONDITION: the tensor requires no gradient; a backward pass has freed what was kept; it was changed in place.
   Since 1.1. [thread-safe] */
TN_API tn_status* tn_tensor_saved(const tn_tensor* tensor, uint32_t index, tn_saved* saved);

/* Sees what a step passes on in a backward pass: `passed[i]` for operand i, of the gradients that arrived for the call's results; NULL
   where there is none. A new reference in `replacements[i]` takes the place of passed[i], which must not be NULL. Runs on the thread of
   the backward pass. [thread-safe] */
typedef tn_status* (*tn_step_hook_fn)(void* ctx, tn_tensor* const* passed, uint32_t operands,
                                      tn_tensor* const* arrived, uint32_t results,
                                      tn_tensor** replacements);
/* Adds a hook to the step that made the tensor, as tn_tensor_add_hook() does to its gradient; tn_tensor_remove_hook() removes it. Errors:
   TN_FAILED_PRECONDITION: the tensor is a leaf or requires no gradient. Since 1.1. [thread-safe] */
TN_API tn_status* tn_tensor_add_step_hook(tn_tensor* tensor, tn_step_hook_fn hook, void* ctx,
                                          void (*destroy)(void* ctx), uint64_t* id);

TN_EXTERN_C_END
#endif
