/* ONNX models as functions of tensors. libtenon_onnx. A model runs node by node, on the device of its inputs. Traced (tenon/graph.h), it
   becomes a program that no longer needs this library. Thread tags as in the other headers: [thread-safe] from any thread at any time. */
#ifndef TENON_ONNX_H
#define TENON_ONNX_H

#include "tenon/graph.h"

/* A model, read from a file. Reference-counted. */
typedef struct tn_onnx_model tn_onnx_model;

enum { TN_ONNX_NONE = 0, TN_ONNX_TENSOR = 1, TN_ONNX_SEQUENCE = 2 };
/* A model's input or result: nothing (an empty optional), a tensor, or a sequence of values. */
typedef struct tn_onnx_value {
  uint32_t kind;
  uint32_t count;    /* of items */
  tn_tensor* tensor; /* of kind TN_ONNX_TENSOR */
  struct tn_onnx_value* items;
} tn_onnx_value;

/* An input or a result as the file declares it. The pointers in it live as long as the model. */
typedef struct tn_onnx_port {
  uint32_t struct_size;
  uint32_t kind;   /* TN_ONNX_TENSOR or TN_ONNX_SEQUENCE */
  tn_dtype dtype;  /* of the tensor, or of those in the sequence */
  uint32_t ranked; /* 0: any shape */
  uint32_t ndim;
  uint32_t optional;     /* 1: TN_ONNX_NONE is allowed */
  const int64_t* shape;  /* -1 if a size is not fixed */
  const tn_str* symbols; /* names of the sizes that are not fixed, by dimension; may be empty */
  tn_str name;
} tn_onnx_port;

typedef struct tn_onnx_info {
  uint32_t struct_size;
  uint32_t inputs, results, weights;
  uint64_t nodes; /* including those in bodies and functions */
  uint64_t weight_bytes;
  int64_t ir_version, opset; /* of the default domain */
  tn_str producer, producer_version;
} tn_onnx_info;

/* How to write a program. Zeros are the defaults. */
typedef struct tn_onnx_export_options {
  uint32_t struct_size;
  uint32_t ninputs;      /* number of input names; 0: the program's names */
  uint32_t nresults;     /* number of result names; 0: result0, result1 … */
  uint32_t reserved;     /* 0 */
  int64_t opset;         /* 0: 18; from 18 to 25 */
  const tn_str* inputs;  /* by position; an empty name: the program's */
  const tn_str* results; /* by position */
} tn_onnx_export_options;

TN_EXTERN_C_BEGIN

/* Reads a model. The file is mapped, and aligned weights are used in place. The caller owns *out.
   Errors: TN_NOT_FOUND, TN_IO: the file, or a file with its weights, which must be in the model's folder; TN_DATA_LOSS with the place;
   TN_UNIMPLEMENTED with every op, opset and dtype that Tenon lacks. [thread-safe] */
TN_API tn_status* tn_onnx_load(tn_str path, tn_onnx_model** out);
/* The caller sets struct_size; no field beyond it is filled. [thread-safe] */
TN_API tn_status* tn_onnx_get_info(const tn_onnx_model* model, tn_onnx_info* out);
/* Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_onnx_input(const tn_onnx_model* model, uint32_t index, tn_onnx_port* out);
TN_API tn_status* tn_onnx_result(const tn_onnx_model* model, uint32_t index, tn_onnx_port* out);
/* A weight and its name, which lives as long as the model. The caller owns *tensor. Errors: TN_OUT_OF_RANGE. [thread-safe] */
TN_API tn_status* tn_onnx_weight(const tn_onnx_model* model, uint32_t index, tn_str* name,
                                 tn_tensor** tensor);
/* The ops in the model, one line each: domain, op, number of nodes. [thread-safe] */
TN_API tn_status* tn_onnx_list_ops(const tn_onnx_model* model, tn_write_fn write, void* ctx);
/* Computes the results. All inputs lie on one device, or are traced. Free `results` with tn_onnx_release_values.
   Errors: TN_INVALID_ARGUMENT: number, kind, dtype or shape of an input; those of the ops, with the node's name. [thread-safe] */
TN_API tn_status* tn_onnx_run(const tn_onnx_model* model, const tn_onnx_value* inputs,
                              uint32_t ninputs, tn_onnx_value* results, uint32_t nresults);
/* Frees what tn_onnx_run filled. [thread-safe] */
TN_API void tn_onnx_release_values(tn_onnx_value* values, uint32_t count);
/* The ops that models may contain, one line each: domain, op. [thread-safe] */
TN_API tn_status* tn_onnx_list_converters(tn_write_fn write, void* ctx);
/* Writes a program as a model; the file is replaced as a whole or not at all. A size that runs choose keeps the name of the program's
   dim. `options`: NULL for the defaults.
   Errors: TN_UNIMPLEMENTED: an op without an ONNX counterpart, or one whose nodes would depend on a varying size; TN_OUT_OF_RANGE: the
   opset, or more than 2 GiB; TN_INVALID_ARGUMENT: the number of names, or a repeated one; TN_IO. [thread-safe] */
TN_API tn_status* tn_onnx_export(const tn_program* program, tn_str path,
                                 const tn_onnx_export_options* options);
/* The ops of Tenon that can be exported, one on a line. [thread-safe] */
TN_API tn_status* tn_onnx_list_exported(tn_write_fn write, void* ctx);
/* Adds a reference and returns its argument; NULL is allowed. [thread-safe] */
TN_API tn_onnx_model* tn_onnx_retain(tn_onnx_model* model);
/* Drops a reference; NULL is allowed. [thread-safe] */
TN_API void tn_onnx_release(tn_onnx_model* model);

TN_EXTERN_C_END
#endif
