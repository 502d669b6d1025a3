/* The conversions of f16, bf16, E4M3 and E5M2 as function pointers. */
#ifndef TEST_FLOAT_FORMATS_H
#define TEST_FLOAT_FORMATS_H

#include <stdint.h>

typedef struct Conversion {
  float (*widen)(uint32_t code);
  uint32_t (*narrow)(float value);
} Conversion;

#ifdef __cplusplus
extern "C" {
#endif
extern const Conversion in_c[4];
extern const Conversion in_cpp[4];
#ifdef __cplusplus
}
#endif
#endif
