/* Fills a table with the conversions, compiled in the language of the file that includes this. */
#include "float_formats.h"
#include "tenon/float_formats.h"

static float widen_f16(uint32_t code) { return tn_f16_to_f32((uint16_t)code); }
static float widen_bf16(uint32_t code) { return tn_bf16_to_f32((uint16_t)code); }
static float widen_e4m3(uint32_t code) { return tn_f8_e4m3_to_f32((uint8_t)code); }
static float widen_e5m2(uint32_t code) { return tn_f8_e5m2_to_f32((uint8_t)code); }
static uint32_t narrow_f16(float value) { return tn_f32_to_f16(value); }
static uint32_t narrow_bf16(float value) { return tn_f32_to_bf16(value); }
static uint32_t narrow_e4m3(float value) { return tn_f32_to_f8_e4m3(value); }
static uint32_t narrow_e5m2(float value) { return tn_f32_to_f8_e5m2(value); }

#define CONVERSIONS                                                                  \
  {                                                                                  \
    {widen_f16, narrow_f16}, {widen_bf16, narrow_bf16}, {widen_e4m3, narrow_e4m3}, { \
      widen_e5m2, narrow_e5m2                                                        \
    }                                                                                \
  }
