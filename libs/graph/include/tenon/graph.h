/* Programs: functions of tensors, recorded once as a graph of ops, and run without the language they were written in. libtenon_graph.
   Thread tags as in the other headers: [thread-safe] from any thread at any time, several at once; [tracing] on the thread that
   began the trace. */
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H

#include "tenon/tensor.h"

/* A recording in progress: what its thread calls on tensors of trace:0 is noted, and nothing is computed. */
typedef struct tn_trace tn_trace;
/* A graph of ops on a device. Reference-counted. */
typedef struct tn_program tn_program;

/* tn_program_print */
#define TN_PROGRAM_RECORDED 0u
#define TN_PROGRAM_LOWERED 1u /* to what its device runs */
#define TN_PROGRAM_EXPLAINED \
  2u /* the same with kernels, what is fused, places in memory, and why nodes run alone */
#define TN_PROGRAM_DRAWN 3u /* what its device runs as a picture: SVG */

/* A dimension of inputs whose size each run chooses. `name` of a program's lives as long as it. */
typedef struct tn_trace_dim {
  uint32_t struct_size;
  uint32_t reserved;
  tn_str name;
  int64_t min; /* 0: 1, or 2 where the function calls other ops for one element */
  int64_t max; /* 0: none */
} tn_trace_dim;

/* tn_trace_control */
#define TN_CONTROL_COND 0u
#define TN_CONTROL_LOOP 1u
#define TN_CONTROL_SCAN 2u

/* What an input or a result is. `shape` and `name` live as long as the program; a size that differs from run to run is -1. */
typedef struct tn_program_value {
  uint32_t struct_size;
  tn_dtype dtype;
  uint32_t ndim;
  uint32_t reserved;
  const int64_t* shape;
  tn_str name; /* of inputs */
  const int32_t*
      dims; /* of inputs, by dimension: which of the program's dims it is, -1 for none; NULL where no size varies */
} tn_program_value;

/* Filled up to struct_size, which the caller sets. */
typedef struct tn_program_info {
  uint32_t struct_size;
  uint32_t inputs;
  uint32_t results;
  uint32_t
      differentiable; /* 1 where a weight required a gradient when it was traced; runs record none */
  uint64_t nodes;     /* calls of kernels in a run */
  uint64_t
      bound; /* of those, how many run without being looked up: all on the host, but for random numbers */
  uint64_t arena; /* bytes that a run works in; a second one at the same time takes as many more */
  uint64_t unshared; /* what they were if each intermediate result had memory of its own */
  uint64_t weights;  /* bytes of tensors from outside that it reads */
  uint64_t state;    /* bytes of those that its runs write to */
  uint32_t numbers;
  uint32_t dims;  /* whose size each run chooses */
  uint64_t fused; /* ops that run inside kernels of several, each of which is one node */
  uint32_t exact; /* tn_program_set_exact */
  uint32_t reserved;
} tn_program_info;

/* A number that may be another in each run, such as an optimizer's rate. `name` lives as long as the program. */
typedef struct tn_program_number {
  uint32_t struct_size;
  uint32_t counts; /* 1: each run makes it greater by one */
  double value;
  tn_str name;
} tn_program_number;

TN_EXTERN_C_BEGIN

/* Begins a trace on this thread; the caller owns *out. Gradients are not recorded meanwhile. Tensors from outside that meet traced ones
   become weights, which share their elements: later writes into them are seen by runs.
   Errors: TN_FAILED_PRECONDITION: this thread traces, or captures work of a device, already; what loading trace:0 met. */
TN_API tn_status* tn_trace_begin(tn_trace** out);
/* Begins a trace of a training step: gradients are recorded, and tensors from outside that it writes to (parameters, running statistics,
   the memory of optimizers) become state, which runs of the program write to. The step's function is called twice: tn_trace_again lies
   between. Gradients live inside the step only; after a trace its parameters have none. Errors: as tn_trace_begin. */
TN_API tn_status* tn_trace_begin_step(tn_trace** out);
/* Begins a trace of a function whose inputs have dims of any size: it is called at several sizes, tn_trace_next lies between, and what
   differs has to follow the sizes. `dims`: their names differ. Errors: as tn_trace_begin; TN_INVALID_ARGUMENT: a name, a range. */
TN_API tn_status* tn_trace_begin_sizes(const tn_trace_dim* dims, uint32_t ndims, tn_trace** out);
/* The same of a training step (tn_trace_begin_step): at each size it is called twice, with tn_trace_again between the two calls and
   tn_trace_next behind them. Errors: as tn_trace_begin_sizes. */
TN_API tn_status* tn_trace_begin_step_sizes(const tn_trace_dim* dims, uint32_t ndims,
                                            tn_trace** out);
/* An input of such a trace, in each pass anew. `of`: for each dimension of `like` which of the dims it is, or -1: it is as in `like`.
   The caller owns *out. [tracing] */
TN_API tn_status* tn_trace_input_sized(tn_trace* trace, const tn_tensor* like, tn_str name,
                                       const int32_t* of, tn_tensor** out);
/* Ends a pass. *more is 1 where the function is to be called once more, with inputs of other sizes; else tn_trace_end follows, without
   results. Errors: as tn_trace_end; TN_FAILED_PRECONDITION with the op: what the function calls, or a number that it calls with, depends
   on a size in a way that no formula tells. [tracing] */
TN_API tn_status* tn_trace_next(tn_trace* trace, tn_tensor* const* results, uint32_t nresults,
                                uint32_t* more);
/* The same for a pass in which the function failed. At a size of 1 that nobody asked for the trace goes on, and the dim begins at 2.
   Errors: TN_FAILED_PRECONDITION at other sizes. [tracing] */
TN_API tn_status* tn_trace_failed(tn_trace* trace, uint32_t* more);
/* Tells where calls come from, such as "model.py:12", for errors: `where` writes it to `write`. It is called before each op that is
   recorded, until the trace ends. [tracing] */
TN_API tn_status* tn_trace_source(tn_trace* trace,
                                  void (*where)(void* ctx, tn_write_fn write, void* to), void* ctx);
/* Whether this thread records a trace. */
TN_API uint32_t tn_trace_active(void);
/* Control flow in the trace of this thread: a body's ops are called between its begin and its end, over tensors that stand for its inputs
   (like those given; `inputs` takes a new reference for each) and whatever else is traced, which the body takes as it is when it runs.
   Bodies write into nothing from outside. Errors: TN_UNIMPLEMENTED: in a training step. [tracing] */
TN_API tn_status* tn_trace_body_begin(tn_tensor* const* like, uint32_t count, tn_tensor** inputs);
TN_API tn_status* tn_trace_body_end(tn_tensor* const* results, uint32_t count);
/* Ends the body that began last as a branch of a cond that cannot be computed, for a reason: a run that takes it fails with this. Of two
   branches one may be so. Errors: none is open. [tracing] */
TN_API tn_status* tn_trace_body_refuse(tn_str why);
/* Forgets the body that began last, what was called in it, and those that ended beside it and that nothing runs yet, so that the same can
   be recorded in another way. A tn_trace_body_end that fails does this, too. Errors: none is open. [tracing] */
TN_API tn_status* tn_trace_body_drop(void);
/* Records what runs the bodies that ended last, and gives its results, each a new reference. TN_CONTROL_COND: operands: a predicate of one
   element; bodies without inputs: then, else. TN_CONTROL_LOOP: operands are carried; bodies of these: the condition, and what gives the
   next ones, which are the results. TN_CONTROL_SCAN: operands: `carried` that are carried, and others that are scanned along their
   first dimension; one body of both, which gives the next carried and slices; the results are the last carried, and the slices stacked.
   Errors: TN_FAILED_PRECONDITION: shapes, dtypes or counts that do not fit. [tracing] */
TN_API tn_status* tn_trace_control(uint32_t kind, tn_tensor* const* operands, uint32_t count,
                                   uint32_t carried, tn_tensor** results, uint32_t nresults);
/* Says that the function computes with `value` now, and with another number in later runs, by name; `counts`: one that is greater by one
   in each. Both passes say the same numbers in the same order, with other values in the second: what follows them there takes a
   run's. [tracing] */
TN_API tn_status* tn_trace_number(tn_trace* trace, tn_str name, double value, uint32_t counts);
/* Ends the first pass of a step and begins the second, which gets inputs of its own. Errors: as tn_trace_end; the trace goes on
   nowhere then and has to be dropped. [tracing] */
TN_API tn_status* tn_trace_again(tn_trace* trace, tn_tensor* const* results, uint32_t nresults);
/* A tensor without elements that stands for an input of the shape and dtype of `like`. The caller owns *out. [tracing] */
TN_API tn_status* tn_trace_input(tn_trace* trace, const tn_tensor* like, tn_str name,
                                 tn_tensor** out);
/* Gives a tensor from outside the name that its weight has in files and texts. [tracing] */
TN_API tn_status* tn_trace_name(tn_trace* trace, const tn_tensor* weight, tn_str name);
/* Ends the trace; the program of the device (NULL: the host) computes `results`. The caller owns *out, and the trace is freed, also on
   an error. Errors: TN_FAILED_PRECONDITION: an op writes into an input or a weight; a tensor of another trace; of a step: its passes
   differ in more than its numbers, or what follows a number is not the number itself. [tracing] */
TN_API tn_status* tn_trace_end(tn_trace* trace, tn_tensor* const* results, uint32_t nresults,
                               tn_device* device, tn_program** out);
/* Ends it without a program. NULL is allowed. [tracing] */
TN_API void tn_trace_drop(tn_trace* trace);

/* Computes the results, which are new tensors, from inputs of the recorded shapes and dtypes on the program's device; its dims may have any
   size of their range, and the program is planned once for each combination that it meets (the last 64 are kept). Runs of several
   threads work in memory of their own; those that write into state go one after another. Random numbers are drawn anew, from the default generator.
   Errors: TN_INVALID_ARGUMENT: number, shape, dtype or device of an input; those of the ops. [thread-safe] */
TN_API tn_status* tn_program_run(tn_program* program, tn_tensor* const* inputs, uint32_t ninputs,
                                 tn_tensor** results, uint32_t nresults);
/* Writes it with its weights as a safetensors file, at once or not at all. Errors: TN_IO. [thread-safe] */
TN_API tn_status* tn_program_save(const tn_program* program, tn_str path);
/* Reads such a file; nothing in it is executed but ops of the table. `device`: NULL for the host.
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
/* A dimension whose size each run chooses. Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_program_get_dim(const tn_program* program, uint32_t index, tn_trace_dim* out);
/* Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_program_get_number(tn_program* program, uint32_t index,
                                        tn_program_number* out);
/* 1: results have the bits of the recorded calls. 0, which programs without state begin with: convolutions may take in what follows them and
   hold their weights in layouts of their own, which rounds otherwise (relative errors of 1e-5 and less). Copies of weights follow
   writes that tn_tensor_version counts; runs of other threads have to be over by such a write. The graph is lowered anew. Errors: as
   tn_trace_end. [thread-safe] */
TN_API tn_status* tn_program_set_exact(tn_program* program, uint32_t exact);
/* A program whose products of f32 by constant matrices (linear without an activation, matmul; 4,096 entries or more) take integers of
   eight bits: each row of a weight has a scale, and sums are exact (linear_w8a8). Without samples each row of what a weight meets is
   scaled by its own range, in each run; with samples, lists of inputs one after another, one range holds for each product, that of runs of
   them. Its weights are copies, which see no later writes. The caller owns *out. Errors: TN_FAILED_PRECONDITION:
   there is no such product, or runs write into state; TN_INVALID_ARGUMENT: samples that are no inputs. [thread-safe] */
TN_API tn_status* tn_program_quantize(tn_program* program, tn_tensor* const* samples,
                                      uint32_t nsamples, tn_program** out);
/* Numbers from `first` on, for runs that begin later. Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_program_set_numbers(tn_program* program, uint32_t first, const double* values,
                                         uint32_t count);
/* Where it runs. Borrowed. [thread-safe] */
TN_API tn_device* tn_program_device(const tn_program* program);
/* The graph as people read it, in one of the forms above. [thread-safe] */
TN_API tn_status* tn_program_print(tn_program* program, uint32_t form, tn_write_fn write,
                                   void* ctx);
/* The graph as it was recorded, as files hold it: JSON (docs/guide/graphs.md). [thread-safe] */
TN_API tn_status* tn_program_describe(const tn_program* program, tn_write_fn write, void* ctx);
/* The same for these sizes of its dims, one of each: no number varies. Errors: TN_INVALID_ARGUMENT: their count; TN_OUT_OF_RANGE: a view
   that reaches beyond its buffer at these sizes. [thread-safe] */
TN_API tn_status* tn_program_describe_at(const tn_program* program, const int64_t* sizes,
                                         uint32_t ndims, tn_write_fn write, void* ctx);
/* The elements of a weight, flat, by the name that the description gives it ("tensor"); the caller owns *out.
   Errors: TN_NOT_FOUND. [thread-safe] */
TN_API tn_status* tn_program_weight(const tn_program* program, tn_str name, tn_tensor** out);
/* Adds a reference and returns its argument; NULL is allowed. [thread-safe] */
TN_API tn_program* tn_program_retain(tn_program* program);
/* Drops a reference; NULL is allowed. [thread-safe] */
TN_API void tn_program_release(tn_program* program);

TN_EXTERN_C_END
#endif
