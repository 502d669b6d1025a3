// Bounds of C, and its layout in memory.
#if defined(TN_F32)
const uint DT_C = DT_F32, WORDS_OF_C = 1;
#define C_MOST uintBitsToFloat(0x7f800000u)
#define C_LEAST uintBitsToFloat(0xff800000u)
#define C_NAN uintBitsToFloat(0x7fc00000u)
#elif defined(TN_F64)
const uint DT_C = DT_F64, WORDS_OF_C = 2;
#define C_MOST packDouble2x32(uvec2(0, 0x7ff00000u))
#define C_LEAST packDouble2x32(uvec2(0, 0xfff00000u))
#define C_NAN packDouble2x32(uvec2(0, 0x7ff80000u))
#elif defined(TN_I64)
const uint DT_C = DT_I64, WORDS_OF_C = 2;
#define C_MOST 0x7fffffffffffffffl
#define C_LEAST (-0x7fffffffffffffffl - 1l)
#else
const uint DT_C = DT_I32, WORDS_OF_C = 1;
#define C_MOST 0x7fffffff
#define C_LEAST (-0x7fffffff - 1)
#endif
