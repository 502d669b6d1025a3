// Functions of two floats, and derivatives of activations times the incoming gradient.
#include "shaders/binary_math.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

namespace code {
enum : uint32_t {
#define OP(op, value) op = __LINE__,
#define VARIANT OP
#include "../shaders/binary_math.def"
#undef VARIANT
#undef OP
};
}  // namespace code

void run_binary_math(const tn_call& call, uint32_t op) {
  if (op == code::GELU_BACKWARD && text_arg(call, arg::gelu_backward::approximate) == "tanh")
    op = code::GELU_TANH_BACKWARD;
  run_elementwise(call, shaders::binary_math, compute_of(output(call).dtype), op);
}

}  // namespace

void add_binary_math_kernels(KernelList& list) {
#define OP(op, value) \
  list.add_elementwise(TN_SCHEMA_##op, kFloats | kDouble, run_binary_math, code::op);
#define VARIANT(op, value)
#include "../shaders/binary_math.def"
#undef VARIANT
#undef OP
}

}  // namespace tenon::vulkan
