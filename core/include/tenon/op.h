/* Ops: found by name once, called by handle from then on. */
#ifndef TENON_OP_H
#define TENON_OP_H

#include "tenon/value.h"

TN_EXTERN_C_BEGIN

/* The handle of an op, valid for the life of the process; NULL when there is none of that name. [thread-safe] */
TN_API const tn_op* tn_op_find(tn_str name);
/* Like tn_op_find, with an error that suggests the nearest name. Errors: TN_NOT_FOUND. [thread-safe] */
TN_API tn_status* tn_op_require(tn_str name, const tn_op** out);
/* Number of ops, and the handle at an index below it. [thread-safe] */
TN_API uint32_t tn_op_count(void);
/* NULL beyond the count. [thread-safe] */
TN_API const tn_op* tn_op_at(uint32_t index);
/* Name and schema ("softmax(Tensor x, int dim) -> Tensor @1"). Static storage. [thread-safe] */
TN_API tn_str tn_op_name(const tn_op* op);
/* See tn_op_name. [thread-safe] */
TN_API tn_str tn_op_schema(const tn_op* op);
/* 1 when the op has a gradient. [thread-safe] */
TN_API uint32_t tn_op_is_differentiable(const tn_op* op);

/* Calls an op. `args` are in schema order; trailing ones with defaults may be left out or TN_VALUE_NONE.
   An elementwise op takes a number where the schema says Tensor: it joins with the dtype of the other operand.
   Fills outs[0..nouts) with new references. nouts must be the number of results: the schema's, or what tn_op_result_count says.
   Errors name the op and the values. [thread-safe] */
TN_API tn_status* tn_op_call(const tn_op* op, const tn_value* args, uint32_t nargs,
                             tn_tensor** outs, uint32_t nouts);
/* The same, but results are written into the given tensors, which keep their references. An output that is also an input
   makes the call in place, and gradients are recorded for it. Errors: also a shape or dtype that does not match, an output
   with overlapping elements, a leaf that requires a gradient. [thread-safe] */
TN_API tn_status* tn_op_call_into(const tn_op* op, const tn_value* args, uint32_t nargs,
                                  tn_tensor* const* outs, uint32_t nouts);

/* How many results a call has: the number that tn_op_call wants for `nouts`. The schema says it, but for an op whose last result is a
   list ("Tensor[] parts"), of which the arguments decide. Errors: as of the call. Since 1.1. [thread-safe] */
TN_API tn_status* tn_op_result_count(const tn_op* op, const tn_value* args, uint32_t nargs,
                                     uint32_t* out);

/* Tells, line by line, what would run `op` on `device` for `dtype` and why. Errors: none but NULL arguments. [thread-safe] */
TN_API tn_status* tn_op_explain(const tn_op* op, tn_device* device, tn_dtype dtype,
                                tn_write_fn write, void* ctx);
/* The plugin whose kernel would run: its id; "decomposition", "host fallback" or "" for none. Static storage. [thread-safe] */
TN_API tn_str tn_op_provider(const tn_op* op, tn_device* device, tn_dtype dtype);

/* What happens when a device has neither kernel nor decomposition. */
#define TN_FALLBACK_ALLOW 0u
#define TN_FALLBACK_WARN 1u /* once per op; the default */
#define TN_FALLBACK_DENY 2u
/* For the whole process. [thread-safe] */
TN_API void tn_fallback_set(uint32_t policy);
/* The policy in force. [thread-safe] */
TN_API uint32_t tn_fallback_get(void);
/* Sums up where ops ran since the start or the last reset: one line "op provider calls" each.
   Counting is off until enabled. [thread-safe] */
TN_API void tn_placement_enable(uint32_t on);
/* See tn_placement_enable. [thread-safe] */
TN_API void tn_placement_report(tn_write_fn write, void* ctx);

/* Hooks around every call; off, they cost one predictable branch. */
typedef struct tn_call_hooks {
  uint32_t struct_size;
  uint32_t flags;
  void* ctx;
  /* Before the call runs; non-NULL stops it with that error. Calls that a composite op makes are
     seen as well. May be NULL. [thread-safe] */
  tn_status* (*before)(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs);
  /* After the kernel was enqueued. `provider` is as tn_op_provider says, "core" for views, "layer" for
     what a layer computed. May be NULL. [thread-safe] */
  void (*after)(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs,
                tn_tensor* const* outs, uint32_t nouts, tn_str provider);
} tn_call_hooks;
/* Installs hooks for the calling thread (NULL removes them); `hooks` must stay valid until then.
   Used by profiler and capture. [thread-safe] */
TN_API void tn_call_hooks_set(const tn_call_hooks* hooks);

/* A layer over the calls of a thread, which may compute them in the core's place: autocast, batching, quantisation. Since 1.1. */
typedef struct tn_call_layer {
  uint32_t struct_size;
  uint32_t flags;
  void* ctx;
  /* Fills outs[0..nouts) with new references and sets *done to 1, or leaves the call to the layers below and the core. `args` are
     checked and complete. What it calls itself goes to the layers below it, and is recorded for gradients as usual. An error ends
     the call. May be NULL: calls pass. [thread-safe] */
  tn_status* (*call)(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs,
                     tn_tensor** outs, uint32_t nouts, uint32_t* done);
  /* The same for tn_op_call_into: it writes into the tensors in `outs`. May be NULL: such calls pass. [thread-safe] */
  tn_status* (*call_into)(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs,
                          tn_tensor* const* outs, uint32_t nouts, uint32_t* done);
} tn_call_layer;
/* A plugin that brings layers may offer them to programs, and to `tenon check`, by get_interface("tn.layers", 1): a table of static
   storage. Since 1.1. */
#define TN_LAYERS_NAME "tn.layers"
#define TN_LAYERS_REVISION 1u
typedef struct tn_offered_layer {
  tn_str name; /* "autocast" */
  const tn_call_layer* layer;
  /* How far a result under the layer may be from that without it, relative to the largest element of the latter; 0: the same bits.
     Negative: the layer means something else (batching), and nothing is compared. */
  double tolerance;
} tn_offered_layer;
typedef struct tn_layers {
  uint32_t struct_size;
  uint32_t flags;
  const tn_offered_layer* layers;
  uint32_t count;
  uint32_t stride; /* sizeof(tn_offered_layer) */
} tn_layers;

/* Puts a layer over all others of the calling thread. The struct is copied; its address names the layer when it is popped. A layer
   sees what the thread calls, the ops that a composite or a recorded decomposition consists of, and what a backward pass on this
   thread computes. Errors: TN_FAILED_PRECONDITION inside a layer's own function. Since 1.1. [thread-safe] */
TN_API tn_status* tn_call_layer_push(const tn_call_layer* layer);
/* Takes the newest layer off, which must be this one. Errors: TN_FAILED_PRECONDITION: another
   is, or it is at work. Since 1.1. [thread-safe] */
TN_API tn_status* tn_call_layer_pop(const tn_call_layer* layer);

TN_EXTERN_C_END
#endif
