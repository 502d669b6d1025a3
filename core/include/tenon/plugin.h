/* What a plugin sees: the entry point, the host's table, devices and kernels. A plugin exports tn_plugin_query and links nothing of the
   core. Every struct that may grow begins with struct_size. The loader copies each table and fills missing or NULL slots with functions
   that return TN_UNIMPLEMENTED, so neither side tests a slot. When the core passes a struct to fill, the plugin sets its fields and
   leaves struct_size as it is. Thread tags: [thread-safe] from any thread at any time, several at once; [stream-ordered] enqueues on the
   stream and returns, calls on one stream come one at a time (without a stream: as [thread-safe], and the work is done when the call
   returns); [init] from one thread at a time, while the plugin starts or is quiesced. No slot may throw an exception. */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include "tenon/backend.h"
#include "tenon/op.h"

typedef struct tn_host tn_host;
typedef struct tn_call tn_call;
typedef struct tn_grad_call tn_grad_call;

/* ---- Kernels ------------------------------------------------------------------------------------------------------------ */

/* The canonical iteration space of an elementwise or reducing op. Dimensions of size 1 are removed, and dimensions are merged where
   possible, so contiguous operands of one layout have one dimension. Order of operands: outputs, then tensor inputs in schema order. */
typedef struct tn_loop {
  uint32_t struct_size;
  uint32_t ndim;    /* 0 to TN_MAX_DIMS; 0 means one element */
  uint32_t reduced; /* the last `reduced` dimensions are reduced; 0 for elementwise ops */
  uint32_t noperands;
  const int64_t* shape; /* ndim sizes, outermost first */
  const int64_t* const*
      strides; /* strides[k][d] in elements; 0 broadcasts (for an output: a reduced dimension) */
} tn_loop;

/* tn_call.flags */
#define TN_CALL_CONTIGUOUS \
  1u /* elementwise: operands are scalars or have the same layout without gaps; loop->ndim is 1 */
#define TN_CALL_ANY_DIM 2u /* `dim` is not the last: only kernels with TN_KERNEL_ANY_DIM see it */

/* A call of a kernel in canonical form: dtypes promoted, shapes broadcast, defaults filled in, outputs allocated. The call and
   everything it points to live until run returns; the memory of views and scratch stays valid for all work that run enqueues on
   call->stream. Work on other streams must be joined to it before run returns. A kernel may only write to outputs, scratch and arguments
   marked '!'. */
struct tn_call {
  uint32_t struct_size;
  uint32_t flags;
  const tn_value*
      args; /* schema order; tensors as TN_VALUE_VIEW, lists as TN_VALUE_VIEWS, absent ones as TN_VALUE_NONE */
  uint32_t nargs;
  uint32_t nouts;
  const tn_view* const* outs;
  const tn_loop* loop;   /* elementwise and reducing ops; NULL otherwise */
  void* stream;          /* the plugin's stream; NULL on the host device */
  uint32_t device_index; /* within the device type */
  uint32_t reserved;
  void* scratch;        /* scratch_size bytes, 64-byte aligned, or NULL */
  void* scratch_buffer; /* its buffer handle */
  void* context;        /* the core's; pass it to tn_host.make_output */
};

/* tn_kernel.flags. Without STRIDED, every input outside of a loop arrives contiguous. Without ANY_DIM, the dimension that an op works
   along is moved last on its tensors, which copies them, and `dim` is the last. */
#define TN_KERNEL_STRIDED 1u /* takes inputs with any strides */
#define TN_KERNEL_HOST_SCALARS \
  2u /* takes TN_VIEW_SCALAR operands; otherwise they are copied to the device first */
#define TN_KERNEL_ANY_DIM 4u /* reads `dim`; tensors are contiguous in the order of the caller */

typedef struct tn_kernel {
  uint32_t struct_size;
  uint32_t flags;
  tn_str
      op; /* schema with revision, as in the op table: "softmax(Tensor x, int dim) -> Tensor @1" */
  uint64_t
      dtypes; /* mask for the dtype of the first tensor input (after promotion), or of the output if there is none */
  int32_t priority; /* of the kernels that support a call, the one with the highest priority runs */
  uint32_t reserved;
  /* Optional. Only reads metadata, and always gives the same answer. [thread-safe] */
  tn_status* (*supports)(void* self, const tn_call* call, uint32_t* yes);
  /* Optional, with release. Makes what only depends on shapes, strides, dtypes and attributes; the core caches these plans.
     [thread-safe] */
  tn_status* (*prepare)(void* self, const tn_call* call, void** plan);
  /* Optional. Bytes of scratch memory that run needs. [thread-safe] */
  uint64_t (*scratch_size)(void* self, const tn_call* call, void* plan);
  /* Enqueues the work on call->stream and returns. Several threads may run one plan at once. [stream-ordered] */
  tn_status* (*run)(void* self, void* plan, const tn_call* call);
  /* Frees a plan that no call uses any more. [thread-safe] */
  void (*release)(void* self, void* plan);
  void* self; /* first argument of the slots */
} tn_kernel;

/* ---- New ops ------------------------------------------------------------------------------------------------------------ */

/* Shape and dtype of one result of a new op. The core sets struct_size, the plugin the rest. */
typedef struct tn_result {
  uint32_t struct_size;
  tn_dtype dtype;
  uint32_t ndim;
  uint32_t reserved;
  int64_t shape[TN_MAX_DIMS];
} tn_result;

/* tn_op_def.form: how results look, and in which form operands reach a kernel. */
#define TN_OP_PLAIN 0u /* `infer` decides; operands as tn_kernel.flags say */
#define TN_OP_ELEMENTWISE \
  1u /* tensors are broadcast to the shape of all results; a loop, inputs with any strides. Numbers may replace tensors */
#define TN_OP_REDUCE \
  2u /* a loop over argument 0 along "int[]? dims" (none: all); with "bool keepdim" these can stay as size 1 */

/* tn_op_def.promotion: the dtype that tensors are converted to, and that results have unless `infer` says otherwise. */
#define TN_OP_AS_GIVEN 0u /* no conversion; results have the dtype of the first tensor */
#define TN_OP_COMMON 1u /* the common dtype, as in tn_dtype_promote; numbers only raise the kind */
#define TN_OP_FRACTION 2u /* the same, but f32 for integers and bool */

typedef struct tn_op_def {
  uint32_t struct_size;
  uint32_t flags;
  tn_str
      schema; /* "name(Tensor x, float a=1.0) -> Tensor @1"; names with a dot are reserved for third parties: "acme.swish" */
  void* self;
  /* Fills *results[0] to *results[n - 1] from the arguments' metadata (views without data). NULL: form and promotion decide; a plain op
     is like the first tensor. With another form, results are already filled in, and only their dtype may change. [thread-safe] */
  tn_status* (*infer)(void* self, const tn_value* args, uint32_t nargs, tn_result* const* results,
                      uint32_t nresults);
  /* Computes the op with other ops. Without a gradient, the core differentiates this. Optional. [thread-safe] */
  tn_status* (*decompose)(void* self, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                          uint32_t nouts);
  /* Sets gradients through the host's grad_* functions, computed with other ops. Optional. [thread-safe] */
  tn_status* (*gradient)(void* self, tn_grad_call* call);
  uint64_t saved_inputs;  /* mask of arguments that gradient reads */
  uint64_t saved_outputs; /* mask of results that gradient reads */
  uint32_t form;          /* TN_OP_PLAIN, …_ELEMENTWISE, …_REDUCE. Since 1.1 */
  uint32_t promotion;     /* TN_OP_AS_GIVEN, …_COMMON, …_FRACTION. Since 1.1 */
  /* Narrows saved_inputs and saved_outputs, which *inputs and *outputs hold, to what the gradient of this call reads, so that fewer
     tensors are kept. `needed`: mask of the arguments that want a gradient. `args` as in decompose. Optional. Since 1.1. [thread-safe] */
  void (*saves)(void* self, const tn_value* args, uint32_t nargs, uint64_t needed, uint64_t* inputs,
                uint64_t* outputs);
  /* The number of entries in the last result, if the schema says it is a list ("-> Tensor[] parts"). Everywhere, the other results come
     first and the entries follow; in saved_outputs they share one bit. `args` as in infer. Since 1.1. [thread-safe] */
  tn_status* (*count)(void* self, const tn_value* args, uint32_t nargs, uint32_t* entries);
} tn_op_def;

/* ---- The host's table --------------------------------------------------------------------------------------------------- */

struct tn_host {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t abi_major;
  uint32_t abi_minor;
  /* The host makes statuses, so they outlive the plugin. [thread-safe] */
  tn_status* (*make_status)(uint32_t code, tn_str message);
  /* TN_OK for NULL. [thread-safe] */
  uint32_t (*status_code)(const tn_status* status);
  /* Valid until the status is released; empty for NULL. [thread-safe] */
  tn_str (*status_message)(const tn_status* status);
  /* For a status from another slot of this table; NULL is allowed. [thread-safe] */
  void (*status_release)(tn_status* status);
  /* level 0 debug, 1 info, 2 warning, 3 error. [thread-safe] */
  void (*log)(uint32_t level, tn_str message);

  /* Registration, during start. `plugin` is the token that start received. Tables are copied. [init] */
  tn_status* (*register_device_type)(void* plugin, const tn_device_type* type);
  /* Kernels for the devices named `device` ("cpu" for the host's). `stride` is sizeof(tn_kernel). Registers all or none; the error names
     the kernel. A kernel for a third party's op ("acme.swish") may come before that op: it waits. [init] */
  tn_status* (*register_kernels)(void* plugin, tn_str device, const tn_kernel* kernels,
                                 uint32_t count, uint32_t stride);
  /* A new op, available once start has succeeded. Results "()": it only writes to arguments ("Tensor! x"). [init] */
  tn_status* (*register_op)(void* plugin, const tn_op_def* op);

  /* For a kernel whose output shape depends on data: allocates output `index`. *out lives as long as the call. [thread-safe] */
  tn_status* (*make_output)(const tn_call* call, uint32_t index, uint32_t ndim,
                            const int64_t* shape, const tn_view** out);

  /* Ops and tensors, for decompositions and gradients: as tn_op_find and its like. [thread-safe] */
  const tn_op* (*op_find)(tn_str name);
  /* As tn_op_call. [thread-safe] */
  tn_status* (*op_call)(const tn_op* op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                        uint32_t nouts);
  /* As tn_tensor_retain. [thread-safe] */
  tn_tensor* (*tensor_retain)(tn_tensor* tensor);
  /* As tn_tensor_release. [thread-safe] */
  void (*tensor_release)(tn_tensor* tensor);
  /* As tn_tensor_view. [thread-safe] */
  const tn_view* (*tensor_view)(const tn_tensor* tensor);

  /* For tn_op_def.gradient, on its thread. Results are borrowed and valid during the callback; NULL if there is none. The gradient of a
     result. [thread-safe] */
  tn_tensor* (*grad_output)(tn_grad_call* call, uint32_t result);
  /* An argument in saved_inputs. [thread-safe] */
  tn_tensor* (*grad_saved_input)(tn_grad_call* call, uint32_t arg);
  /* A result in saved_outputs. [thread-safe] */
  tn_tensor* (*grad_saved_output)(tn_grad_call* call, uint32_t result);
  /* An attribute, as the caller gave it. [thread-safe] */
  const tn_value* (*grad_arg)(tn_grad_call* call, uint32_t arg);
  /* 1 if the argument wants a gradient. [thread-safe] */
  uint32_t (*grad_needed)(tn_grad_call* call, uint32_t arg);
  /* Sets the gradient of an argument; takes its own reference. [thread-safe] */
  tn_status* (*grad_set)(tn_grad_call* call, uint32_t arg, tn_tensor* grad);

  /* Optional interfaces of the host by name and revision; NULL if there is none. [thread-safe] */
  const void* (*get_interface)(tn_str name, uint32_t revision);

  /* As tn_op_call_into. Since 1.1. [thread-safe] */
  tn_status* (*op_call_into)(const tn_op* op, const tn_value* args, uint32_t nargs,
                             tn_tensor* const* outs, uint32_t nouts);
  /* As tn_call_layer_push. Since 1.1. [thread-safe] */
  tn_status* (*call_layer_push)(const tn_call_layer* layer);
  /* As tn_call_layer_pop. Since 1.1. [thread-safe] */
  tn_status* (*call_layer_pop)(const tn_call_layer* layer);
  /* As tn_backward_on_end. Since 1.1. [thread-safe] */
  tn_status* (*backward_on_end)(tn_status* (*done)(void* ctx), void* ctx,
                                void (*destroy)(void* ctx));
  /* As tn_plugin_interface: an interface of another plugin. Since 1.1. [thread-safe] */
  tn_status* (*plugin_interface)(tn_str id, tn_str name, uint32_t revision, const void** out);
  /* As tn_op_result_count. Since 1.1. [thread-safe] */
  tn_status* (*op_result_count)(const tn_op* op, const tn_value* args, uint32_t nargs,
                                uint32_t* out);
  /* For tn_op_def.gradient: the number of results of the call, counting the entries of a list. Since 1.1. [thread-safe] */
  uint32_t (*grad_result_count)(tn_grad_call* call);
  /* The number of entries in a list of tensors; 1 for a tensor, 0 for anything else. Since 1.1. [thread-safe] */
  uint32_t (*grad_entry_count)(tn_grad_call* call, uint32_t arg);
  /* As grad_saved_input, for an entry of a list. Since 1.1. [thread-safe] */
  tn_tensor* (*grad_saved_entry)(tn_grad_call* call, uint32_t arg, uint32_t entry);
  /* As grad_needed, for an entry of a list. Since 1.1. [thread-safe] */
  uint32_t (*grad_entry_needed)(tn_grad_call* call, uint32_t arg, uint32_t entry);
  /* As grad_set, for an entry of a list. Since 1.1. [thread-safe] */
  tn_status* (*grad_set_entry)(tn_grad_call* call, uint32_t arg, uint32_t entry, tn_tensor* grad);
  /* As tn_storage_track. Since 1.1. [thread-safe] */
  tn_status* (*storage_track)(tn_tensor* tensor);
  /* As tn_storage_release. Since 1.1. [thread-safe] */
  tn_status* (*storage_release)(tn_tensor* tensor);
  /* As tn_storage_restore. Since 1.1. [thread-safe] */
  tn_status* (*storage_restore)(tn_tensor* tensor, tn_status* (*fill)(void* ctx, tn_tensor* tensor),
                                void* ctx);
};

/* ---- Entry -------------------------------------------------------------------------------------------------------------- */

typedef struct tn_plugin {
  uint32_t struct_size;
  uint32_t abi_major; /* what it was built for */
  uint32_t abi_minor;
  uint32_t min_host_minor; /* refuses older hosts */
  tn_str id;               /* "cpu"; third parties use reverse DNS */
  tn_str version;
  /* `plugin` is the token for registration; `directory`, valid during the call, contains the library. [init] */
  tn_status* (*start)(const tn_host* host, void* plugin, tn_str directory, void** state);
  /* No further call will come in; waits for what is running. [init] */
  tn_status* (*quiesce)(void* state);
  /* Frees `state`. Nothing of the plugin is called until it is started again. [init] */
  void (*stop)(void* state);
  /* Optional interfaces of the plugin ("tn.layers", "tn.collective", "tn.profiler"); NULL if there is none. [thread-safe] */
  const void* (*get_interface)(void* state, tn_str name, uint32_t revision);
} tn_plugin;

/* The only symbol a plugin exports: pure, repeatable, callable before anything is started. *out has static storage. It cannot make a
   status yet, so it returns NULL; a plugin that cannot run here says why in start. [thread-safe] */
typedef tn_status* (*tn_plugin_query_fn)(uint32_t host_major, uint32_t host_minor,
                                         const tn_plugin** out);
TN_EXTERN_C_BEGIN
/* What a plugin defines. [thread-safe] */
TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out);
TN_EXTERN_C_END

#endif
