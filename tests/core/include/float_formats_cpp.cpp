#include "float_formats_table.h"

const Conversion in_cpp[4] = CONVERSIONS;

static_assert(tn_f32_to_f16(1.5f) == 0x3e00 && tn_f16_to_f32(0x0001) == 0x1p-24f);
static_assert(tn_f32_to_bf16(-2.0f) == 0xc000 && tn_bf16_to_f32(0x3f80) == 1.0f);
static_assert(tn_f32_to_f8_e4m3(448.0f) == 0x7e && tn_f8_e4m3_to_f32(0x81) == -0x1p-9f);
static_assert(tn_f32_to_f8_e5m2(57344.0f) == 0x7b && tn_f8_e5m2_to_f32(0x01) == 0x1p-16f);
