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

/* 1 if gradients flow to it. [thread-safe] */
TN_API uint32_t tn_tensor_requires_grad(const tn_tensor* tensor);
/* Errors: TN_INVALID_ARGUMENT (not a float or complex dtype), TN_FAILED_PRECONDITION (not a leaf). [thread-safe] */
TN_API tn_status* tn_tensor_set_requires_grad(tn_tensor* tensor, uint32_t on);
/* 1 if no recorded op made it. [thread-safe] */
TN_API uint32_t tn_tensor_is_leaf(const tn_tensor* tensor);
/* The gradient that a leaf has accumulated, or that tn_tensor_set_grad gave to another tensor. A new reference; NULL if there is none.
   [thread-safe] */
TN_API tn_tensor* tn_tensor_grad(const tn_tensor* tensor);
/* Replaces the gradient (NULL clears it). Errors: another shape, dtype or device. [thread-safe] */
TN_API tn_status* tn_tensor_set_grad(tn_tensor* tensor, tn_tensor* grad);
/* Makes the tensor show the elements of `data`, which must have the same shape; it takes over dtype, strides and device. Everyone who
   holds the tensor sees them, so a parameter can move to another device under an optimizer. Hooks stay. If dtype or device change, the
   gradient is dropped, and backward through older graphs no longer reaches the tensor. Older views keep showing the old elements. Nobody
   may use the tensor meanwhile.
   Errors: TN_FAILED_PRECONDITION: a view or the result of an op; TN_INVALID_ARGUMENT: another shape, or a dtype without gradients for a
   tensor that requires one. Since 1.1. [thread-safe] */
TN_API tn_status* tn_tensor_set_data(tn_tensor* tensor, const tn_tensor* data);
/* A tensor with the same storage and without history. The caller owns *out. [thread-safe] */
TN_API tn_status* tn_tensor_detach(tn_tensor* tensor, tn_tensor** out);
/* The name of the op that made the tensor ("mul"); empty for a leaf. Static storage. [thread-safe] */
TN_API tn_str tn_tensor_grad_fn_name(const tn_tensor* tensor);

#define TN_BACKWARD_RETAIN_GRAPH 1u
#define TN_BACKWARD_CREATE_GRAPH 2u /* implies retain: gradients of gradients */
#define TN_BACKWARD_ALLOW_UNUSED 4u /* gradient(): an unused input gets NULL instead of an error */
/* Accumulates gradients of the outputs into the leaves. `grads`, or an entry of it, may be NULL for outputs with one element. Errors
   name the op. [thread-safe] */
TN_API tn_status* tn_backward(tn_tensor* const* outputs, uint32_t count, tn_tensor* const* grads,
                              uint32_t flags);
/* Stores gradients with respect to `inputs` as new references in `results`. The leaves' own gradients stay unchanged. [thread-safe] */
TN_API tn_status* tn_gradient(tn_tensor* const* outputs, uint32_t noutputs, tn_tensor* const* grads,
                              tn_tensor* const* inputs, uint32_t ninputs, uint32_t flags,
                              tn_tensor** results);

/* Called with the complete gradient. May store a replacement (a new reference) in *replacement. Runs on the thread of the backward pass.
   [thread-safe] */
typedef tn_status* (*tn_grad_hook_fn)(void* ctx, tn_tensor* grad, tn_tensor** replacement);
/* `destroy(ctx)` runs when the hook is removed or dies; it may be NULL. *id removes the hook. Errors: the tensor requires no gradient.
   [thread-safe] */
TN_API tn_status* tn_tensor_add_hook(tn_tensor* tensor, tn_grad_hook_fn hook, void* ctx,
                                     void (*destroy)(void* ctx), uint64_t* id);
/* Errors: TN_NOT_FOUND. [thread-safe] */
TN_API tn_status* tn_tensor_remove_hook(tn_tensor* tensor, uint64_t id);

/* Calls `done(ctx)` once on this thread, after the outermost backward pass that is running has ended and all gradients are in place.
   Call it from a hook or a gradient, for example to wait for communication that hooks began. Callbacks run in the order of these calls.
   An error from one fails the pass; if the pass fails, `done` is not called. `destroy(ctx)` runs in either case; it may be NULL.
   Errors: TN_FAILED_PRECONDITION if no pass runs on this thread; then `destroy` is not called. Since 1.1. [thread-safe] */
TN_API tn_status* tn_backward_on_end(tn_status* (*done)(void* ctx), void* ctx,
                                     void (*destroy)(void* ctx));

/* A custom function. The library copies the struct. `destroy(ctx)` runs when the graph no longer needs it. */
typedef struct tn_function {
  uint32_t struct_size;
  uint32_t flags;
  tn_str name; /* copied */
  void* ctx;
  /* grads[i] belongs to output i and may be NULL. Sets results[i] for input i to a new reference or NULL. Recording is on if the caller
     wants gradients of gradients. [thread-safe] */
  tn_status* (*backward)(void* ctx, tn_tensor* const* grads, uint32_t ngrads, tn_tensor** results,
                         uint32_t nresults);
  void (*destroy)(void* ctx); /* may be NULL [thread-safe] */
} tn_function;
/* Connects `outputs`, which the caller computed without recording, to `inputs` through `function`. If no input requires a gradient, the
   outputs stay as they are. Errors: an output that already has a history. Calls `destroy` on an error, too. [thread-safe] */
TN_API tn_status* tn_function_record(const tn_function* function, tn_tensor* const* inputs,
                                     uint32_t ninputs, tn_tensor* const* outputs,
                                     uint32_t noutputs);

/* Decides how recorded calls of a thread keep tensors for their gradients: on the host, on a disk, or in another format. Both functions
   run without recording. Custom functions keep what they like without these hooks. Since 1.1. */
typedef struct tn_saved_hooks {
  uint32_t struct_size;
  uint32_t flags;
  void* ctx;
  /* `tensor` is an operand or a result of a call; `alias` has its elements and no history. *kept, a new reference to any tensor, is held
     as long as the graph. Wrap other data in a tensor (tn_tensor_wrap_host). [thread-safe] */
  tn_status* (*pack)(void* ctx, tn_tensor* tensor, tn_tensor* alias, tn_tensor** kept);
  /* Returns a new tensor without history, with the shape, dtype and device of the packed one. Called once for each gradient that is
     computed, on the thread of the backward pass. [thread-safe] */
  tn_status* (*unpack)(void* ctx, tn_tensor* kept, tn_tensor** tensor);
} tn_saved_hooks;
/* Sets the hooks of the calling thread, or NULL for none, and returns the previous ones. `hooks` must outlive what is recorded with
   them. Since 1.1. [thread-safe] */
TN_API const tn_saved_hooks* tn_saved_hooks_set(const tn_saved_hooks* hooks);

TN_EXTERN_C_END
#endif
