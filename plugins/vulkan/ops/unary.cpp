// Arithmetic and tests of one operand.
#include "shaders/unary.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

void run_unary(const tn_call& call, uint32_t code) {
  run_elementwise(call, shaders::unary, compute_of(input(call, arg::neg::x).dtype), code);
}

}  // namespace

void add_unary_kernels(KernelList& list) {
#define OP(op, dtypes, value) list.add_elementwise(TN_SCHEMA_##op, dtypes, run_unary, __LINE__);
#define FLOAT_OP OP
#define INT_OP OP
#include "../shaders/unary.def"
#undef OP
#undef FLOAT_OP
#undef INT_OP
}

}  // namespace tenon::vulkan
