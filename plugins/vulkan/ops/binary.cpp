// Arithmetic, bits and comparisons of two operands.
#include "shaders/binary.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

void run_binary(const tn_call& call, uint32_t code) {
  run_elementwise(call, shaders::binary, compute_of(input(call, arg::add::x).dtype), code);
}

}  // namespace

void add_binary_kernels(KernelList& list) {
  constexpr uint64_t kRealFloats = kFloats | kDouble, kBits = kInts | TN_MASK_BOOL;
#define OP(op, dtypes, value) list.add_elementwise(TN_SCHEMA_##op, dtypes, run_binary, __LINE__);
#define FLOAT_OP OP
#define INT_OP OP
#include "../shaders/binary.def"
#undef OP
#undef FLOAT_OP
#undef INT_OP
}

}  // namespace tenon::vulkan
