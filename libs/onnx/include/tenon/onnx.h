/* ONNX models as functions of tensors. libtenon_onnx. A model runs node by node where its inputs lie; traced (tenon/graph.h), it is a
   program that needs this library no more. Thread tags as in the other headers: [thread-safe] from any thread at any time. */
#ifndef TENON_ONNX_H
#define TENON_ONNX_H

#include "tenon/graph.h"

/* A model that was read from a file. Reference-counted. */
typedef struct tn_onnx_model tn_onnx_model;

enum { TN_ONNX_NONE = 0, TN_ONNX_TENSOR = 1, TN_ONNX_SEQUENCE = 2 };
/* What a model takes or gives: nothing (an empty optional), a tensor, or a sequence of values. */
typedef struct tn_onnx_value {
  uint32_t kind;
  uint32_t count;    /* of items */
  tn_tensor* tensor; /* of kind TN_ONNX_TENSOR */
  struct tn_onnx_value* items;
} tn_onnx_value;

/* An input or a result as the file declares it. What it points at lives as long as the model. */
typedef struct tn_onnx_port {
  uint32_t struct_size;
  uint32_t kind;   /* TN_ONNX_TENSOR or TN_ONNX_SEQUENCE */
  tn_dtype dtype;  /* of the tensor or of those in it */
  uint32_t ranked; /* 0: any shape */
  uint32_t ndim;
  uint32_t optional;     /* 1: TN_ONNX_NONE is allowed */
  const int64_t* shape;  /* -1 where a size is not fixed */
  const tn_str* symbols; /* names of those sizes, by dimension; may be empty */
  tn_str name;
} tn_onnx_port;

typedef struct tn_onnx_info {
  uint32_t struct_size;
  uint32_t inputs, results, weights;
  uint64_t nodes; /* with those of bodies and functions */
  uint64_t weight_bytes;
  int64_t ir_version, opset; /* of the default domain */
  tn_str producer, producer_version;
} tn_onnx_info;

/* How a program is written. Zeros are the defaults. */
typedef struct tn_onnx_export_options {
  uint32_t struct_size;
  uint32_t ninputs;      /* names of inputs; 0: those of the program */
  uint32_t nresults;     /* names of results; 0: result0, result1 … */
  uint32_t reserved;     /* 0 */
  int64_t opset;         /* 0: 18; from 18 to 25 */
  const tn_str* inputs;  /* by position; an empty one: the program's */
  const tn_str* results; /* by position */
} tn_onnx_export_options;

TN_EXTERN_C_BEGIN

/* Reads a model; weights stay in the file, which is mapped, where they are aligned. The caller owns *out.
   Errors: TN_NOT_FOUND, TN_IO: the file, or one that its weights lie in, which must be in the model's folder; TN_DATA_LOSS with the
   place; TN_UNIMPLEMENTED with every op, opset and dtype of it that Tenon does not have. [thread-safe] */
TN_API tn_status* tn_onnx_load(tn_str path, tn_onnx_model** out);
/* Filled up to struct_size, which the caller sets. [thread-safe] */
TN_API tn_status* tn_onnx_get_info(const tn_onnx_model* model, tn_onnx_info* out);
/* Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_onnx_input(const tn_onnx_model* model, uint32_t index, tn_onnx_port* out);
TN_API tn_status* tn_onnx_result(const tn_onnx_model* model, uint32_t index, tn_onnx_port* out);
/* A weight and its name, which is the model's; the caller owns *tensor. Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_onnx_weight(const tn_onnx_model* model, uint32_t index, tn_str* name,
                                 tn_tensor** tensor);
/* What the model's ops are, one line each: domain, op, number of nodes. [thread-safe] */
TN_API tn_status* tn_onnx_list_ops(const tn_onnx_model* model, tn_write_fn write, void* ctx);
/* Computes the results. All inputs lie on one device, or are traced. Fills `results`, which tn_onnx_release_values frees.
   Errors: TN_INVALID_ARGUMENT: number, kind, dtype or shape of an input; those of the ops, with the node's name. [thread-safe] */
TN_API tn_status* tn_onnx_run(const tn_onnx_model* model, const tn_onnx_value* inputs,
                              uint32_t ninputs, tn_onnx_value* results, uint32_t nresults);
/* Frees what tn_onnx_run filled. [thread-safe] */
TN_API void tn_onnx_release_values(tn_onnx_value* values, uint32_t count);
/* The ops that models may have, one line each: domain, op. [thread-safe] */
TN_API tn_status* tn_onnx_list_converters(tn_write_fn write, void* ctx);
/* Writes a program as a model, at once or not at all. A size that runs choose has the name of the program's dim in the model, too.
   `options`: NULL for the defaults.
   Errors: TN_UNIMPLEMENTED: an op that ONNX has no counterpart of, or whose nodes would follow a size that varies; TN_OUT_OF_RANGE: the
   opset, or more than 2 GiB; TN_INVALID_ARGUMENT: number of names, or one twice; TN_IO. [thread-safe] */
TN_API tn_status* tn_onnx_export(const tn_program* program, tn_str path,
                                 const tn_onnx_export_options* options);
/* The ops of Tenon that can be exported, one a line. [thread-safe] */
TN_API tn_status* tn_onnx_list_exported(tn_write_fn write, void* ctx);
/* Adds a reference and returns its argument; NULL is allowed. [thread-safe] */
TN_API tn_onnx_model* tn_onnx_retain(tn_onnx_model* model);
/* Drops a reference; NULL is allowed. [thread-safe] */
TN_API void tn_onnx_release(tn_onnx_model* model);

TN_EXTERN_C_END
#endif
