// Elementary functions of floats.
#include "shaders/unary_math.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

void run_unary_math(const tn_call& call, uint32_t code) {
  run_elementwise(call, shaders::unary_math, compute_of(output(call).dtype), code);
}

}  // namespace

void add_unary_math_kernels(KernelList& list) {
#define OP(op, value) \
  list.add_elementwise(TN_SCHEMA_##op, kFloats | kDouble, run_unary_math, __LINE__);
#include "../shaders/unary_math.def"
#undef OP
}

}  // namespace tenon::vulkan
