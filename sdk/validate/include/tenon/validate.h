/* The validating layer: what it found, what memory is alive, and faults on request. A draft: it may change between minors.
   TENON_VALIDATE=1 puts the layer between the core and every plugin; a program that links it does so with
   tn_layer_set(tn_validate_layer()) before its first call. All functions here are [thread-safe]. */
#ifndef TENON_VALIDATE_H
#define TENON_VALIDATE_H

#include "tenon/ext/draft/layer.h"

/* tn_violation.kind */
#define TN_VIOLATION_THREAD 0u /* a slot called by a thread, or at a time, that its tag forbids */
#define TN_VIOLATION_ARGUMENT \
  1u /* a size, NULL, index, range or string that the contract rules out */
#define TN_VIOLATION_OWNERSHIP 2u /* a handle that is unknown, gone, or given back twice */
#define TN_VIOLATION_RESULT 3u    /* an answer outside its values: status, `supports`, counts */
#define TN_VIOLATION_MEMORY 4u    /* a write outside an output, to an input, or after a free */
#define TN_VIOLATION_UNWRITTEN 5u /* an element of an output that run left as it was */
#define TN_VIOLATION_EXCEPTION 6u /* an exception that left a slot */
#define TN_VIOLATION_LEAK 7u      /* alive when its plugin was quiesced */

/* Strings live until tn_validate_clear. */
typedef struct tn_violation {
  uint32_t struct_size;
  uint32_t kind;
  tn_str plugin;  /* id */
  tn_str slot;    /* "kernel.run", "memory.allocate", "host.make_output" */
  tn_str op;      /* empty outside a kernel */
  tn_str text;    /* what happened, with values, and what the contract says */
  uint64_t count; /* how often the same was seen */
} tn_violation;

/* A block of device memory that was not given back; `op` is the op that wrote it first. */
typedef struct tn_live_block {
  uint32_t struct_size;
  uint32_t device_index;
  tn_str device_type;
  tn_str op; /* may be empty */
  uint64_t bytes;
  uint64_t serial; /* of the allocation, from 1 */
} tn_live_block;

/* A fault to inject into calls of slots that return a status. */
typedef struct tn_fault {
  uint32_t struct_size;
  uint32_t code;      /* what the call returns: TN_OUT_OF_MEMORY, TN_DEVICE_LOST, … */
  tn_str device_type; /* empty: any but the host's */
  tn_str slot;        /* "memory.allocate", "kernel.run"; empty: any */
  uint64_t nth;       /* which matching call fails, from 1; 0: none, calls are only counted */
  uint64_t times;     /* how many in a row; 0: all from there on */
} tn_fault;

TN_EXTERN_C_BEGIN

/* The layer's table. Static storage. */
TN_EXPORT const tn_layer* tn_validate_layer(void);

/* The number of violations since the start or the last clear, repetitions included. */
TN_EXPORT uint64_t tn_validate_count(void);
/* Calls `visit` for each distinct one, oldest first. `visit` must not call tn_validate_*. */
TN_EXPORT void tn_validate_each(void (*visit)(void* ctx, const tn_violation* violation), void* ctx);
TN_EXPORT void tn_validate_clear(void);

/* The blocks alive now with a serial of at least `since`, and the serial that the next block gets. */
TN_EXPORT void tn_validate_each_block(uint64_t since,
                                      void (*visit)(void* ctx, const tn_live_block* block),
                                      void* ctx);
TN_EXPORT uint64_t tn_validate_next_serial(void);
/* The number of references to tensors that plugins hold now: given by op_call and tensor_retain, and not yet released. */
TN_EXPORT uint64_t tn_validate_references(void);
/* Checks and gives back the blocks that are kept to catch uses after free. Blocks count as freed in either state. */
TN_EXPORT void tn_validate_flush(void);

/* Sets the fault (NULL: none) and resets its counters. */
TN_EXPORT void tn_validate_inject(const tn_fault* fault);
/* How many calls have matched since then, and how many of them the fault made fail. */
TN_EXPORT void tn_validate_injected(uint64_t* matched, uint64_t* failed);

TN_EXTERN_C_END
#endif
