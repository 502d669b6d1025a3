/* Programs: functions of tensors, recorded once as a graph of ops, that then run without the code that made them. libtenon_graph. Thread
   tags as in the other headers: [thread-safe] from any thread at any time, several at once; [tracing] on the thread that began the
   trace. */
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H

#include "tenon/tensor.h"

/* A recording in progress: ops that its thread calls on tensors of trace:0 are noted and not computed. */
typedef struct tn_trace tn_trace;
/* A graph of ops on a device. Reference-counted. */
typedef struct tn_program tn_program;

/* tn_program_print */
#define TN_PROGRAM_RECORDED 0u
#define TN_PROGRAM_LOWERED 1u /* lowered to its device */
#define TN_PROGRAM_EXPLAINED \
  2u /* the same with kernels, fusion, places in memory, and why nodes run alone */
#define TN_PROGRAM_DRAWN 3u /* the lowered graph as a picture: SVG */

/* A dimension of the inputs whose size each run chooses. A program's `name` lives as long as the program. */
typedef struct tn_trace_dim {
  uint32_t struct_size;
  uint32_t multiple; /* every size is a multiple of it; 0: found if the function fails at others */
  tn_str name;
  int64_t min; /* 0: at least 1, or 2 if the function calls other ops for a size of 1 */
  int64_t max; /* 0: no limit */
} tn_trace_dim;

/* kinds for tn_trace_control */
#define TN_CONTROL_COND 0u
#define TN_CONTROL_LOOP 1u
#define TN_CONTROL_SCAN 2u

/* An input or a result. `shape` and `name` live as long as the program. A size that varies is -1. */
typedef struct tn_program_value {
  uint32_t struct_size;
  tn_dtype dtype;
  uint32_t ndim;
  uint32_t reserved;
  const int64_t* shape;
  tn_str name; /* of an input */
  const int32_t*
      dims; /* of an input, by dimension: index of the program's dim, or -1; NULL if no size varies */
} tn_program_value;

/* The caller sets struct_size; no field beyond it is filled. */
typedef struct tn_program_info {
  uint32_t struct_size;
  uint32_t inputs;
  uint32_t results;
  uint32_t
      differentiable; /* 1 if a weight required a gradient when it was traced; runs record none */
  uint64_t nodes;     /* kernel calls in a run */
  uint64_t bound; /* how many of those run without a look-up: on the host all but random numbers */
  uint64_t arena; /* bytes that a run works in; each concurrent run takes as many */
  uint64_t unshared; /* the same if every intermediate result had its own memory */
  uint64_t weights;  /* bytes of outside tensors that runs read */
  uint64_t state;    /* bytes of outside tensors that runs write to */
  uint32_t numbers;
  uint32_t dims;  /* how many sizes each run chooses */
  uint64_t fused; /* ops that run inside fused kernels; each such kernel is one node */
  uint32_t exact; /* tn_program_set_exact */
  uint32_t
      written; /* how many of the inputs a run writes to: they must be contiguous and apart from all others */
} tn_program_info;

/* A number that may change from run to run, such as an optimizer's rate. `name` lives as long as the program. */
typedef struct tn_program_number {
  uint32_t struct_size;
  uint32_t counts; /* 1: each run increases it by one */
  double value;
  tn_str name;
} tn_program_number;

TN_EXTERN_C_BEGIN

/* Begins a trace on this thread. Records no gradients. An outside tensor that meets a traced one becomes a weight and shares its
   elements, so runs see later writes to it. The caller owns *out.
   Errors: TN_FAILED_PRECONDITION: this thread already traces, or captures a device's work; whatever stops trace:0 from loading. */
TN_API tn_status* tn_trace_begin(tn_trace** out);
/* Begins a trace of a training step. Records gradients; outside tensors that the step writes to (parameters, running statistics,
   optimizer state) become state, which runs write to as well, and to inputs likewise. Call the step's function twice, with tn_trace_again in between. Gradients
   live inside the step only: after the trace its parameters have none. Errors: as tn_trace_begin. */
TN_API tn_status* tn_trace_begin_step(tn_trace** out);
/* Begins a trace of a function whose inputs have dims of any size. Call it at several sizes, with tn_trace_next in between; whatever
   differs must follow from the sizes. Names in `dims` differ. Errors: as tn_trace_begin; TN_INVALID_ARGUMENT: a name or a range. */
TN_API tn_status* tn_trace_begin_sizes(const tn_trace_dim* dims, uint32_t ndims, tn_trace** out);
/* The same for a training step (tn_trace_begin_step). Call it twice at each size, with tn_trace_again between the two calls and
   tn_trace_next after them. Errors: as tn_trace_begin_sizes. */
TN_API tn_status* tn_trace_begin_step_sizes(const tn_trace_dim* dims, uint32_t ndims,
                                            tn_trace** out);
/* An input of such a trace; make it anew for each call. `of`: for each dimension of `like` the index of its dim, or -1 for a fixed size.
   The caller owns *out. [tracing] */
TN_API tn_status* tn_trace_input_sized(tn_trace* trace, const tn_tensor* like, tn_str name,
                                       const int32_t* of, tn_tensor** out);
/* Ends one call of the function. If *more is 1, call it again with inputs of other sizes; otherwise call tn_trace_end, without results.
   Errors: as tn_trace_end; TN_FAILED_PRECONDITION with an op that depends on a size, by a number or by being called at all, in a way
   that fits no formula. [tracing] */
TN_API tn_status* tn_trace_next(tn_trace* trace, tn_tensor* const* results, uint32_t nresults,
                                uint32_t* more);
/* The same after a call that failed. If the size was a 1 that nobody asked for, the trace goes on and the dim begins at 2. Errors:
   TN_FAILED_PRECONDITION at other sizes. [tracing] */
TN_API tn_status* tn_trace_failed(tn_trace* trace, uint32_t* more);
/* Whether the error of the last tn_trace_next or tn_trace_failed is that the function's calls failed at sizes it has to take, so that what
   they failed with tells more than that error. [tracing] */
TN_API uint32_t tn_trace_function_failed(const tn_trace* trace);
/* Says where calls come from, for errors: `where` writes a text such as "model.py:12" to `write`. It is called before each recorded op
   until the trace ends. [tracing] */
TN_API tn_status* tn_trace_source(tn_trace* trace,
                                  void (*where)(void* ctx, tn_write_fn write, void* to), void* ctx);
/* Whether this thread is recording a trace. */
TN_API uint32_t tn_trace_active(void);
/* Says that the function which this thread records, if any, has read elements of a host tensor: what is recorded may depend on them.
   [thread-safe] */
TN_API void tn_trace_read(const tn_tensor* tensor);
/* How many tensors from outside were read so, or computed into what was, each memory once; out[0 .. room) gets the first of them, which the
   caller owns. Call it before tn_trace_end. [tracing] */
TN_API uint32_t tn_trace_reads(const tn_trace* trace, tn_tensor** out, uint32_t room);
/* meta:0, a device whose tensors have shapes, dtypes and strides, and no elements: ops infer their results and compute nothing. It is not
   listed. *out is borrowed. Errors: whatever stops its plugin from loading, which is that of trace:0. [thread-safe] */
TN_API tn_status* tn_trace_meta_device(tn_device** out);
/* Control flow in this thread's trace. Between its begin and end, call the body's ops on the tensors that stand for its inputs (like
   those given; each entry of `inputs` is a new reference) and on any other traced tensor, whose elements the body reads when it runs. A
   body may not write to anything outside. Errors: TN_UNIMPLEMENTED: in a training step. [tracing] */
TN_API tn_status* tn_trace_body_begin(tn_tensor* const* like, uint32_t count, tn_tensor** inputs);
TN_API tn_status* tn_trace_body_end(tn_tensor* const* results, uint32_t count);
/* Ends the body that began last as a branch that cannot be computed: a run that takes it fails with `why`. At most one of the two
   branches of a cond may be refused. Errors: no body is open. [tracing] */
TN_API tn_status* tn_trace_body_refuse(tn_str why);
/* Drops the body that began last with all its calls, and finished bodies that no node runs yet, so that you can record the same in
   another way. A failing tn_trace_body_end does this too. Errors: no body is open. [tracing] */
TN_API tn_status* tn_trace_body_drop(void);
/* Records a node that runs the bodies that ended last. Each of its results is a new reference.
   TN_CONTROL_COND: the operand is a predicate of one element; the bodies, then and else, have no inputs.
   TN_CONTROL_LOOP: the operands are carried; the bodies take them: the condition, and the one that gives the next carried, which in the
   end are the results.
   TN_CONTROL_SCAN: the first `carried` operands are carried, the others are scanned along their first dimension; the body takes both and
   gives the next carried and slices; the results are the last carried and the stacked slices.
   Errors: TN_FAILED_PRECONDITION: shapes, dtypes or counts that do not fit. [tracing] */
TN_API tn_status* tn_trace_control(uint32_t kind, tn_tensor* const* operands, uint32_t count,
                                   uint32_t carried, tn_tensor** results, uint32_t nresults);
/* Announces a number that the function computes with: `value` now, another one in later runs, set by name. `counts`: each run increases
   it by one. Both passes announce the same numbers in the same order, with different values; arguments that follow one in both passes
   take each run's value. [tracing] */
TN_API tn_status* tn_trace_number(tn_trace* trace, tn_str name, double value, uint32_t counts);
/* Ends the first pass of a step and begins the second, which needs new inputs. Errors: as tn_trace_end; after one, the trace can only be
   dropped. [tracing] */
TN_API tn_status* tn_trace_again(tn_trace* trace, tn_tensor* const* results, uint32_t nresults);
/* A tensor without elements that stands for an input with the shape and dtype of `like`. The caller owns *out. [tracing] */
TN_API tn_status* tn_trace_input(tn_trace* trace, const tn_tensor* like, tn_str name,
                                 tn_tensor** out);
/* Names the weight of an outside tensor in files and texts. [tracing] */
TN_API tn_status* tn_trace_name(tn_trace* trace, const tn_tensor* weight, tn_str name);
/* Ends and frees the trace, even on an error. *out computes `results` on the device (NULL: that of the first input, or the host);
   the caller owns it. Errors:
   TN_FAILED_PRECONDITION: an op writes to an input or a weight, other than in a step; a tensor of another trace; in a step: the passes differ in more than
   their numbers, or an argument is computed from a number instead of being that number. [tracing] */
TN_API tn_status* tn_trace_end(tn_trace* trace, tn_tensor* const* results, uint32_t nresults,
                               tn_device* device, tn_program** out);
/* Frees a trace without making a program. NULL is allowed. [tracing] */
TN_API void tn_trace_drop(tn_trace* trace);

/* Computes new tensors from inputs of the recorded shapes and dtypes on the program's device. Each dim may have any size in its range;
   the program is planned once for each combination of sizes (the last 64 are kept). Threads may run it at once, each in memory of its
   own, but runs that write to state or inputs go one after another. Random numbers are drawn anew, from the default generator.
   Errors: TN_INVALID_ARGUMENT: number, shape, dtype or device of an input; TN_FAILED_PRECONDITION, before anything is written: an input
   that it writes to is read-only, not contiguous, or shares memory; those of the ops. [thread-safe] */
TN_API tn_status* tn_program_run(tn_program* program, tn_tensor* const* inputs, uint32_t ninputs,
                                 tn_tensor** results, uint32_t nresults);
/* Writes program and weights as a safetensors file, which is replaced as a whole or not at all. Errors: TN_IO. [thread-safe] */
TN_API tn_status* tn_program_save(const tn_program* program, tn_str path);
/* Reads such a file. It can only call ops of the table. `device`: NULL for the host. Large weights of convolutions stay in the file, which
   may be replaced or removed, but not changed in place, as long as the program lives.
   Errors: TN_NOT_FOUND: the file, or an op that no plugin here has; TN_DATA_LOSS with the place. [thread-safe] */
TN_API tn_status* tn_program_load(tn_str path, tn_device* device, tn_program** out);
/* Errors: NULL arguments. [thread-safe] */
TN_API tn_status* tn_program_get_info(tn_program* program, tn_program_info* out);
/* Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_program_input(const tn_program* program, uint32_t index,
                                   tn_program_value* out);
/* Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_program_result(const tn_program* program, uint32_t index,
                                    tn_program_value* out);
/* Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_program_get_dim(const tn_program* program, uint32_t index, tn_trace_dim* out);
/* Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_program_get_number(tn_program* program, uint32_t index,
                                        tn_program_number* out);
/* 1: results have exactly the bits of the recorded calls. 0, the default without state: convolutions may be fused with what follows and
   keep copies of their weights in other layouts, which rounds differently (relative errors up to 1e-5). The copies follow writes that
   tn_tensor_version counts, if no other thread runs the program meanwhile. Lowers the graph anew. Errors: as tn_trace_end. [thread-safe] */
TN_API tn_status* tn_program_set_exact(tn_program* program, uint32_t exact);
/* A program whose f32 products by constant matrices (matmul, and linear without an activation; at least 4,096 entries) use 8-bit
   integers, with a scale for each row of a weight and exact sums (linear_w8a8). Without samples, each row that a weight is multiplied
   with is scaled by its own range in each run. With samples, lists of inputs one after another, each product keeps the one range that it
   had in runs of these. The weights are copies and do not see later writes. The caller owns *out.
   Errors: TN_FAILED_PRECONDITION: no such product, or runs write to state; TN_INVALID_ARGUMENT: samples do not fit the inputs.
   [thread-safe] */
TN_API tn_status* tn_program_quantize(tn_program* program, tn_tensor* const* samples,
                                      uint32_t nsamples, tn_program** out);
/* Sets the numbers from `first` on for later runs. Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_program_set_numbers(tn_program* program, uint32_t first, const double* values,
                                         uint32_t count);
/* The device it runs on. Borrowed. [thread-safe] */
TN_API tn_device* tn_program_device(const tn_program* program);
/* The graph as text or picture, in one of the forms above. [thread-safe] */
TN_API tn_status* tn_program_print(tn_program* program, uint32_t form, tn_write_fn write,
                                   void* ctx);
/* The recorded graph as JSON, as files have it (docs/guide/graphs.md). [thread-safe] */
TN_API tn_status* tn_program_describe(const tn_program* program, tn_write_fn write, void* ctx);
/* The same with the dims at these sizes, so that no number varies. Errors: TN_INVALID_ARGUMENT: the number of sizes; TN_OUT_OF_RANGE: a
   view leaves its buffer at these sizes. [thread-safe] */
TN_API tn_status* tn_program_describe_at(const tn_program* program, const int64_t* sizes,
                                         uint32_t ndims, tn_write_fn write, void* ctx);
/* The elements of a weight, flat, by its name in the description ("tensor"). The caller owns *out. Errors: TN_NOT_FOUND. [thread-safe] */
TN_API tn_status* tn_program_weight(const tn_program* program, tn_str name, tn_tensor** out);
/* Adds a reference and returns its argument; NULL is allowed. [thread-safe] */
TN_API tn_program* tn_program_retain(tn_program* program);
/* Drops a reference; NULL is allowed. [thread-safe] */
TN_API void tn_program_release(tn_program* program);

TN_EXTERN_C_END
#endif
