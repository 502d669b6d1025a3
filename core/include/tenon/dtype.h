/* Element types. Codes are frozen; new ones are appended. */
#ifndef TENON_DTYPE_H
#define TENON_DTYPE_H

#include "tenon/base.h"

typedef uint32_t tn_dtype;

#define TN_DTYPE_BOOL 0u /* one byte, 0 or 1 */
#define TN_DTYPE_U8 1u
#define TN_DTYPE_U16 2u
#define TN_DTYPE_U32 3u
#define TN_DTYPE_U64 4u
#define TN_DTYPE_I8 5u
#define TN_DTYPE_I16 6u
#define TN_DTYPE_I32 7u
#define TN_DTYPE_I64 8u
#define TN_DTYPE_F16 9u   /* IEEE 754 binary16 */
#define TN_DTYPE_BF16 10u /* upper half of binary32 */
#define TN_DTYPE_F32 11u
#define TN_DTYPE_F64 12u
#define TN_DTYPE_C64 13u     /* two f32: real, imaginary */
#define TN_DTYPE_C128 14u    /* two f64 */
#define TN_DTYPE_F8_E4M3 15u /* OCP E4M3, to 448: NaN, no infinity. Storage. Since 1.1 */
#define TN_DTYPE_F8_E5M2 16u /* OCP E5M2, to 57344: infinity, NaN. Storage. Since 1.1 */
#define TN_DTYPE_COUNT 17u   /* grows with new dtypes, as do the masks below */

/* Masks of dtypes, for tn_kernel.dtypes. */
#define TN_MASK(dtype) ((uint64_t)1 << (dtype))
#define TN_MASK_BOOL TN_MASK(TN_DTYPE_BOOL)
#define TN_MASK_UNSIGNED ((uint64_t)0x1e)
#define TN_MASK_SIGNED ((uint64_t)0x1e0)
#define TN_MASK_INT (TN_MASK_UNSIGNED | TN_MASK_SIGNED)
#define TN_MASK_HALF (TN_MASK(TN_DTYPE_F16) | TN_MASK(TN_DTYPE_BF16))
#define TN_MASK_FLOAT (TN_MASK_HALF | TN_MASK(TN_DTYPE_F32) | TN_MASK(TN_DTYPE_F64))
#define TN_MASK_COMPLEX (TN_MASK(TN_DTYPE_C64) | TN_MASK(TN_DTYPE_C128))
#define TN_MASK_REAL (TN_MASK_INT | TN_MASK_FLOAT)
#define TN_MASK_ALL (TN_MASK_BOOL | TN_MASK_REAL | TN_MASK_COMPLEX)
/* Dtypes for storage only: ops move and cast them, and scaled_matmul multiplies them. No other mask contains them. Since 1.1. */
#define TN_MASK_F8 (TN_MASK(TN_DTYPE_F8_E4M3) | TN_MASK(TN_DTYPE_F8_E5M2))

TN_EXTERN_C_BEGIN

/* Bytes of one element; 0 for an unknown code. [thread-safe] */
TN_API uint64_t tn_dtype_size(tn_dtype dtype);
/* "f32", "bool", …; "?" for an unknown code. Static storage. [thread-safe] */
TN_API tn_str tn_dtype_name(tn_dtype dtype);
/* The dtype with that name; also NumPy's long names ("float32"). Errors: TN_NOT_FOUND. [thread-safe] */
TN_API tn_status* tn_dtype_find(tn_str name, tn_dtype* out);
/* The common dtype of two by the Array API's promotion table; mixed kinds become float or complex. Errors: TN_INVALID_ARGUMENT if the
   standard leaves it open (u64 with a signed integer), and for an 8-bit float with another dtype. [thread-safe] */
TN_API tn_status* tn_dtype_promote(tn_dtype a, tn_dtype b, tn_dtype* out);

TN_EXTERN_C_END
#endif
