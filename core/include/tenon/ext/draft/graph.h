/* Kernels for expressions: several nodes of a graph as one call, so that what they hand each other never leaves the cache. A draft: it
   may change between minors, and is no part of what 1.x promises. What asks for kernels is libtenon_graph; a plugin without this
   interface runs graphs node by node. */
#ifndef TENON_EXT_DRAFT_GRAPH_H
#define TENON_EXT_DRAFT_GRAPH_H

#include "tenon/plugin.h"

#define TN_GRAPH_NAME "tn.graph"
#define TN_GRAPH_REVISION 3u

/* tn_graph_node.kind */
#define TN_GRAPH_LOAD 0u   /* the elements of operand `operand`, an input */
#define TN_GRAPH_NUMBER 1u /* one value, `number` */
#define TN_GRAPH_OP 2u     /* an elementwise op of other nodes */
#define TN_GRAPH_REDUCE 3u /* a reducing op over the loop's last `reduced` dimensions */
#define TN_GRAPH_STORE 4u  /* the elements of node inputs[0] go to operand `operand`, an output */
/* An op that is more than a loop (conv, max_pool); what follows goes over its first result. An OP before it copies its first argument. */
#define TN_GRAPH_ANCHOR 5u

/* tn_graph_node.inputs: this argument is no node. */
#define TN_GRAPH_ATTRIBUTE 0xffffffffu

/* tn_graph_expression.flags: without it every result has the bits that the nodes give one by one, through `kernel`. */
#define TN_GRAPH_CONTRACT 1u /* products may be added without rounding them first */

typedef struct tn_graph_node {
  uint32_t kind;
  tn_dtype dtype;          /* of its elements; of a STORE those of the operand */
  uint32_t operand;        /* LOAD, STORE: which of the loop's */
  uint32_t nargs;          /* OP, REDUCE; a STORE has one */
  const tn_op* op;         /* OP, REDUCE */
  const tn_kernel* kernel; /* OP, REDUCE: what computes the node alone */
  const tn_value* args;    /* nargs, in schema order; attributes alone */
  const uint32_t*
      inputs; /* nargs: the node, an earlier one, that gives the argument, or TN_GRAPH_ATTRIBUTE */
  unsigned char number[16];
} tn_graph_node;

/* Borrowed for the call that gets it. */
typedef struct tn_graph_expression {
  uint32_t struct_size;
  uint32_t flags;
  const tn_loop*
      loop; /* NULL with an ANCHOR. Operands: outputs, then inputs. Nodes run over all of it; behind a REDUCE over the kept dimensions, and
                               where both meet the reduced value is the same for a whole row. An output of reduced values has strides 0
                               in the reduced dimensions */
  const tn_dtype* dtypes; /* by operand */
  uint32_t noutputs;      /* each is stored to by one node */
  uint32_t nnodes;
  const tn_graph_node* nodes;
  const tn_view* const*
      views; /* with an ANCHOR: shape and strides of each operand, outputs first; else NULL */
  uint64_t
      constants; /* with an ANCHOR: a bit for each operand whose elements change only before `pack` */
  /* With an ANCHOR: NULL, or a kernel of the same nodes at other sizes whose constants are as they were at its last `pack`. What that one
     keeps of them may be shared: `pack` follows with the same elements. Until then it is neither packed nor released. */
  const tn_kernel* like;
} tn_graph_expression;

/* What an expression may hold at most. */
typedef struct tn_graph_limits {
  uint32_t struct_size;
  uint32_t operands;
  uint32_t nodes;
  uint32_t
      channels_last; /* 1: anchors of images are quickest where the channels of a place lie side by side */
  int64_t row; /* elements of the reduced dimensions; 0: no REDUCE */
} tn_graph_limits;

/* What a plugin offers by get_interface("tn.graph", 1). It has static storage and is completed by nobody: every slot is there. */
typedef struct tn_graph {
  uint32_t struct_size;
  uint32_t flags;
  tn_str device_type; /* whose devices run the kernels */
  void* self;
  /* [thread-safe] */
  void (*limits)(void* self, uint32_t device_index, tn_graph_limits* out);
  /* Fills *out with a kernel for calls whose outs are the outputs, whose args are the inputs as views, and whose loop is the
     expression's. An output may lie where inputs with its strides lie: each element is read before it is written. An input may be a
     TN_VIEW_SCALAR whose value changes from call to call; its strides are 0. The kernel has no `supports`; its `op` is empty.
     Errors: TN_UNIMPLEMENTED with what it cannot do (the nodes then run one by one); TN_INVALID_ARGUMENT for what is no expression.
     [thread-safe] */
  tn_status* (*compile)(void* self, uint32_t device_index, const tn_graph_expression* expression,
                        tn_kernel* out);
  /* Nanoseconds that a call takes, about: calls that are compared are estimated alike. Errors: as compile. [thread-safe] */
  tn_status* (*cost)(void* self, uint32_t device_index, const tn_graph_expression* expression,
                     double* out);
  /* Frees a kernel that nothing runs any more; also once the plugin was quiesced. [thread-safe] */
  void (*release)(void* self, tn_kernel* kernel);
  /* Takes the constants of a kernel with an ANCHOR into the layout that it wants: before its first run, and whenever they have changed.
     `views`: of all operands; only those of constants have elements. Not while the kernel runs. Errors: memory. */
  tn_status* (*pack)(void* self, const tn_kernel* kernel, const tn_view* const* views);
  /* Changes when the plugin is started anew: kernels from before are released, not run. [thread-safe] */
  uint64_t (*epoch)(void* self);
} tn_graph;

#endif
