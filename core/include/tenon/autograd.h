/* Define-by-run reverse-mode differentiation. */
#ifndef TENON_AUTOGRAD_H
#define TENON_AUTOGRAD_H

#include "tenon/op.h"

TN_EXTERN_C_BEGIN

/* Thread-local modes. */
#define TN_MODE_GRAD 1u      /* record ops; on by default */
#define TN_MODE_INFERENCE 2u /* results can never join a graph; cheaper than no_grad */
#define TN_MODE_ANOMALY 4u   /* backward checks each gradient for NaN and names the forward op */
/* Current modes of this thread. [thread-safe] */
TN_API uint32_t tn_mode_get(void);
/* Sets them and returns the previous ones. [thread-safe] */
TN_API uint32_t tn_mode_set(uint32_t modes);

/* 1 when gradients flow to it. [thread-safe] */
TN_API uint32_t tn_tensor_requires_grad(const tn_tensor* tensor);
/* Errors: TN_INVALID_ARGUMENT (not a float or complex dtype), TN_FAILED_PRECONDITION (not a leaf). [thread-safe] */
TN_API tn_status* tn_tensor_set_requires_grad(tn_tensor* tensor, uint32_t on);
/* 1 when no recorded op made it. [thread-safe] */
TN_API uint32_t tn_tensor_is_leaf(const tn_tensor* tensor);
/* The accumulated gradient of a leaf, or what tn_tensor_set_grad gave another tensor; a new reference, NULL when there is none.
   [thread-safe] */
TN_API tn_tensor* tn_tensor_grad(const tn_tensor* tensor);
/* Replaces the gradient (NULL clears it). Errors: another shape, dtype or device. [thread-safe] */
TN_API tn_status* tn_tensor_set_grad(tn_tensor* tensor, tn_tensor* grad);
/* From here on the tensor shows the elements of `data`, which has its shape: dtype, strides and device are those of `data`. All that
   hold the tensor see them: how a parameter moves to another device under an optimizer. Its hooks stay. Where dtype or device change
   its gradient goes, and backward through graphs that were recorded before no longer reaches it. Views made before show the old
   elements, which live as long as they do or the tensor. Nobody may be using the tensor.
   Errors: TN_FAILED_PRECONDITION: a view or the result of an op; TN_INVALID_ARGUMENT: another shape, or a dtype without gradients for
   a tensor that requires one. Since 1.1. [thread-safe] */
TN_API tn_status* tn_tensor_set_data(tn_tensor* tensor, const tn_tensor* data);
/* The same storage without history; the caller owns *out. [thread-safe] */
TN_API tn_status* tn_tensor_detach(tn_tensor* tensor, tn_tensor** out);
/* The name of the op that made the tensor ("mul"); empty for a leaf. Static storage. [thread-safe] */
TN_API tn_str tn_tensor_grad_fn_name(const tn_tensor* tensor);

#define TN_BACKWARD_RETAIN_GRAPH 1u
#define TN_BACKWARD_CREATE_GRAPH 2u /* implies retain: gradients of gradients */
#define TN_BACKWARD_ALLOW_UNUSED \
  4u /* gradient(): an input that was not used gets NULL instead of an error */
/* Accumulates gradients of the outputs into the leaves. `grads` may be NULL when every output has one element; an entry may be
   NULL likewise. Errors name the op. [thread-safe] */
TN_API tn_status* tn_backward(tn_tensor* const* outputs, uint32_t count, tn_tensor* const* grads,
                              uint32_t flags);
/* Gradients with respect to `inputs` as new references in `results`; leaves' own gradients stay as they are. [thread-safe] */
TN_API tn_status* tn_gradient(tn_tensor* const* outputs, uint32_t noutputs, tn_tensor* const* grads,
                              tn_tensor* const* inputs, uint32_t ninputs, uint32_t flags,
                              tn_tensor** results);

/* Called with the gradient when it is complete; may store a replacement (a new reference) in *replacement.
   Runs on the thread of the backward pass. [thread-safe] */
typedef tn_status* (*tn_grad_hook_fn)(void* ctx, tn_tensor* grad, tn_tensor** replacement);
/* `destroy(ctx)` runs when the hook goes away; it may be NULL. *id removes it again.
   Errors: a tensor that requires no gradient. [thread-safe] */
TN_API tn_status* tn_tensor_add_hook(tn_tensor* tensor, tn_grad_hook_fn hook, void* ctx,
                                     void (*destroy)(void* ctx), uint64_t* id);
/* Errors: TN_NOT_FOUND. [thread-safe] */
TN_API tn_status* tn_tensor_remove_hook(tn_tensor* tensor, uint64_t id);

/* Calls `done(ctx)` once, on this thread, when the outermost backward pass that runs now is over and every gradient is in its place; to be asked
   for from a hook or a gradient (the pass waits for communication that hooks began, say). In the order in which it was asked for.
   An error becomes the pass's. Where the pass fails `done` is not called. `destroy(ctx)` runs in either case; it may be NULL.
   Errors: TN_FAILED_PRECONDITION where no pass runs on this thread; `destroy` is not called then. Since 1.1. [thread-safe] */
TN_API tn_status* tn_backward_on_end(tn_status* (*done)(void* ctx), void* ctx,
                                     void (*destroy)(void* ctx));

/* A custom function. The library copies the struct; `destroy(ctx)` runs when the graph no longer needs it. */
typedef struct tn_function {
  uint32_t struct_size;
  uint32_t flags;
  tn_str name; /* copied */
  void* ctx;
  /* grads[i] belongs to output i and may be NULL; fills results[i] for input i with a new reference or NULL.
     Runs with recording on when the caller asked for gradients of gradients. [thread-safe] */
  tn_status* (*backward)(void* ctx, tn_tensor* const* grads, uint32_t ngrads, tn_tensor** results,
                         uint32_t nresults);
  void (*destroy)(void* ctx); /* may be NULL [thread-safe] */
} tn_function;
/* Ties `outputs` (computed by the caller with recording off) to `inputs` through `function`.
   Outputs that require no gradient because no input does are left as they are. Errors: an output
   that already has a history. `destroy` is called on error, too. [thread-safe] */
TN_API tn_status* tn_function_record(const tn_function* function, tn_tensor* const* inputs,
                                     uint32_t ninputs, tn_tensor* const* outputs,
                                     uint32_t noutputs);

/* What recorded calls of a thread keep for their gradients: on the host, on a disk, or packed in another way. Both functions run with
   recording off. Custom functions keep what they like and are not asked. Since 1.1. */
typedef struct tn_saved_hooks {
  uint32_t struct_size;
  uint32_t flags;
  void* ctx;
  /* `tensor` is an operand or a result of a call, `alias` has its elements and no history. *kept, a new reference to any tensor,
     is held until the graph goes; what is no tensor goes into the memory of one (tn_tensor_wrap_host). [thread-safe] */
  tn_status* (*pack)(void* ctx, tn_tensor* tensor, tn_tensor* alias, tn_tensor** kept);
  /* A new tensor without history, of the shape, the dtype and the device of what was packed: once for each gradient that is
     computed, on the thread of the backward pass. [thread-safe] */
  tn_status* (*unpack)(void* ctx, tn_tensor* kept, tn_tensor** tensor);
} tn_saved_hooks;
/* Sets those of the calling thread, NULL for none, and returns the ones before. `hooks` must live as long as what was recorded with
   them. Since 1.1. [thread-safe] */
TN_API const tn_saved_hooks* tn_saved_hooks_set(const tn_saved_hooks* hooks);

TN_EXTERN_C_END
#endif
