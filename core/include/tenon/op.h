/* Ops: looked up by name once, then called by handle. */
#ifndef TENON_OP_H
#define TENON_OP_H

#include "tenon/value.h"

TN_EXTERN_C_BEGIN

/* The handle of an op, valid for the life of the process; NULL if there is no op with that name. [thread-safe] */
TN_API const tn_op* tn_op_find(tn_str name);
/* Like tn_op_find, with an error that suggests the nearest name. Errors: TN_NOT_FOUND. [thread-safe] */
TN_API tn_status* tn_op_require(tn_str name, const tn_op** out);
/* The number of ops. [thread-safe] */
TN_API uint32_t tn_op_count(void);
/* The handle at an index; NULL beyond the count. [thread-safe] */
TN_API const tn_op* tn_op_at(uint32_t index);
/* Its name. Static storage. [thread-safe] */
TN_API tn_str tn_op_name(const tn_op* op);
/* Its schema: "softmax(Tensor x, int dim) -> Tensor @1". Static storage. [thread-safe] */
TN_API tn_str tn_op_schema(const tn_op* op);
/* 1 if the op has a gradient. [thread-safe] */
TN_API uint32_t tn_op_is_differentiable(const tn_op* op);

/* Calls an op. `args` are in schema order; trailing ones with defaults may be left out or TN_VALUE_NONE. Elementwise ops also take
   numbers for tensors: a number adapts to the dtype of the other operand. Stores new references in outs[0..nouts). nouts must be the
   number of results: the schema's, or what tn_op_result_count says. Errors name the op and the values. [thread-safe] */
TN_API tn_status* tn_op_call(const tn_op* op, const tn_value* args, uint32_t nargs,
                             tn_tensor** outs, uint32_t nouts);
/* The same, but writes results into the given tensors, which keep their references. If an output is also an input, the call is in place
   and its gradients are recorded. Errors: also a shape or dtype that does not match, an output with overlapping elements, a leaf that
   requires a gradient. [thread-safe] */
TN_API tn_status* tn_op_call_into(const tn_op* op, const tn_value* args, uint32_t nargs,
                                  tn_tensor* const* outs, uint32_t nouts);

/* The number of results of a call, which tn_op_call wants as `nouts`. It is in the schema, unless the last result is a list ("Tensor[]
   parts"); then it depends on the arguments. Errors: those of the call. Since 1.1. [thread-safe] */
TN_API tn_status* tn_op_result_count(const tn_op* op, const tn_value* args, uint32_t nargs,
                                     uint32_t* out);

/* Explains line by line what would run `op` on `device` for `dtype`, and why. Errors: only NULL arguments. [thread-safe] */
TN_API tn_status* tn_op_explain(const tn_op* op, tn_device* device, tn_dtype dtype,
                                tn_write_fn write, void* ctx);
/* Who would run it: the id of the kernel's plugin, "decomposition", "host fallback", or "" for nobody. Static storage. [thread-safe] */
TN_API tn_str tn_op_provider(const tn_op* op, tn_device* device, tn_dtype dtype);

/* What happens if a device has neither kernel nor decomposition. */
#define TN_FALLBACK_ALLOW 0u
#define TN_FALLBACK_WARN 1u /* once per op; the default */
#define TN_FALLBACK_DENY 2u
/* For the whole process. [thread-safe] */
TN_API void tn_fallback_set(uint32_t policy);
/* The current policy. [thread-safe] */
TN_API uint32_t tn_fallback_get(void);
/* Counts where ops ran since the start or the last reset: one line "op provider calls" for each. Counting is off until enabled.
   [thread-safe] */
TN_API void tn_placement_enable(uint32_t on);
/* See tn_placement_enable. [thread-safe] */
TN_API void tn_placement_report(tn_write_fn write, void* ctx);

/* Hooks around every call. If off, they cost one predictable branch. */
typedef struct tn_call_hooks {
  uint32_t struct_size;
  uint32_t flags;
  void* ctx;
  /* Runs before the call; a non-NULL result stops it with that error. Also sees the calls of composite ops. May be NULL. [thread-safe] */
  tn_status* (*before)(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs);
  /* Runs after the kernel was enqueued. `provider` is as in tn_op_provider, or "core" for views, or "layer" for what a layer computed.
     May be NULL. [thread-safe] */
  void (*after)(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs,
                tn_tensor* const* outs, uint32_t nouts, tn_str provider);
} tn_call_hooks;
/* Installs hooks for the calling thread (NULL removes them). `hooks` must stay valid until then. For profilers and captures.
   [thread-safe] */
TN_API void tn_call_hooks_set(const tn_call_hooks* hooks);

/* A layer over the calls of a thread, which may compute them instead of the core: autocast, batching, quantisation. Since 1.1. */
typedef struct tn_call_layer {
  uint32_t struct_size;
  uint32_t flags;
  void* ctx;
  /* Either stores new references in outs[0..nouts) and sets *done to 1, or leaves the call to the layers below and the core. `args` are
     checked and complete. Its own calls go to the layers below and are recorded for gradients as usual. An error ends the call. NULL:
     calls pass. [thread-safe] */
  tn_status* (*call)(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs,
                     tn_tensor** outs, uint32_t nouts, uint32_t* done);
  /* The same for tn_op_call_into: writes into the tensors in `outs`. NULL: such calls pass. [thread-safe] */
  tn_status* (*call_into)(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs,
                          tn_tensor* const* outs, uint32_t nouts, uint32_t* done);
} tn_call_layer;
/* For get_interface("tn.layers", 1): a plugin that has layers may offer them to programs and to `tenon check` in a table with static
   storage. Since 1.1. */
#define TN_LAYERS_NAME "tn.layers"
#define TN_LAYERS_REVISION 1u
typedef struct tn_offered_layer {
  tn_str name; /* "autocast" */
  const tn_call_layer* layer;
  /* How far a result under the layer may be from the one without, relative to that one's largest element. 0: same bits. Negative: the
     layer changes the meaning (batching), so nothing is compared. */
  double tolerance;
} tn_offered_layer;
typedef struct tn_layers {
  uint32_t struct_size;
  uint32_t flags;
  const tn_offered_layer* layers;
  uint32_t count;
  uint32_t stride; /* sizeof(tn_offered_layer) */
} tn_layers;

/* Puts a layer above all others of the calling thread. Copies the struct; its address identifies the layer to pop. A layer sees the
   thread's calls, the ops inside composite ops and recorded decompositions, and what a backward pass on this thread computes. Errors:
   TN_FAILED_PRECONDITION inside a layer's own function. Since 1.1. [thread-safe] */
TN_API tn_status* tn_call_layer_push(const tn_call_layer* layer);
/* Removes the newest layer, which must be this one. Errors: TN_FAILED_PRECONDITION: it is not the newest, or it is at work. Since 1.1.
   [thread-safe] */
TN_API tn_status* tn_call_layer_pop(const tn_call_layer* layer);

TN_EXTERN_C_END
#endif
