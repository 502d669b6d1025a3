/* Random number generators: Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
   The same seed and offset give the same numbers on every backend and for every number of threads. */
#ifndef TENON_RANDOM_H
#define TENON_RANDOM_H

#include "tenon/value.h"

TN_EXTERN_C_BEGIN

/* A new generator; the caller releases it. [thread-safe] */
TN_API tn_generator* tn_generator_make(uint64_t seed);
/* Adds a reference and returns its argument; NULL is allowed. [thread-safe] */
TN_API tn_generator* tn_generator_retain(tn_generator* generator);
/* Drops a reference; NULL is allowed. [thread-safe] */
TN_API void tn_generator_release(tn_generator* generator);
/* The process's default generator, borrowed. Ops use it if they are given none. [thread-safe] */
TN_API tn_generator* tn_generator_default(void);
/* Sets the seed and returns to offset 0. [thread-safe] */
TN_API void tn_generator_seed(tn_generator* generator, uint64_t seed);
/* The state: the seed and the number of 128-bit blocks used so far. [thread-safe] */
TN_API void tn_generator_get_state(const tn_generator* generator, uint64_t* seed, uint64_t* offset);
/* Continues from a state that get_state returned. [thread-safe] */
TN_API void tn_generator_set_state(tn_generator* generator, uint64_t seed, uint64_t offset);

TN_EXTERN_C_END
#endif
