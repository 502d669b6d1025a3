// Elementary functions of floats.
#include "shaders/unary_math.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

void run_unary_math(const tn_call& call, uint32_t op) {
  run_elementwise(call, shaders::unary_math, compute_of(output(call).dtype), op);
}

}  // namespace

void add_unary_math_kernels(KernelList& list) {
  uint32_t code = 0;  // as shaders/unary_math.comp
  for (const auto schema :
       {TN_SCHEMA_EXP,    TN_SCHEMA_EXP2,   TN_SCHEMA_EXPM1, TN_SCHEMA_LOG,        TN_SCHEMA_LOG2,
        TN_SCHEMA_LOG10,  TN_SCHEMA_LOG1P,  TN_SCHEMA_SIN,   TN_SCHEMA_COS,        TN_SCHEMA_TAN,
        TN_SCHEMA_ASIN,   TN_SCHEMA_ACOS,   TN_SCHEMA_ATAN,  TN_SCHEMA_SINH,       TN_SCHEMA_COSH,
        TN_SCHEMA_TANH,   TN_SCHEMA_ASINH,  TN_SCHEMA_ACOSH, TN_SCHEMA_ATANH,      TN_SCHEMA_ERF,
        TN_SCHEMA_ERFC,   TN_SCHEMA_SQRT,   TN_SCHEMA_RSQRT, TN_SCHEMA_RECIPROCAL, TN_SCHEMA_ERFINV,
        TN_SCHEMA_LGAMMA, TN_SCHEMA_DIGAMMA})
    list.add_elementwise(schema, kFloats | kDouble, run_unary_math, code++);
}

}  // namespace tenon::vulkan
