// Functions of two floats, and derivatives of activations times the incoming gradient.
#include "shaders/binary_math.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t {  // as shaders/binary_math.comp
  kPow,
  kAtan2,
  kHypot,
  kLogaddexp,
  kGeluBackward,
  kGeluTanhBackward,
  kSiluBackward,
  kSigmoidBackward,
  kTanhBackward
};

void run_binary_math(const tn_call& call, uint32_t op) {
  if (op == kGeluBackward && text_arg(call, arg::gelu_backward::approximate) == "tanh")
    op = kGeluTanhBackward;
  run_elementwise(call, shaders::binary_math, compute_of(output(call).dtype), op);
}

}  // namespace

void add_binary_math_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Op op) {
    list.add_elementwise(schema, kFloats | kDouble, run_binary_math, op);
  };
  add(TN_SCHEMA_POW, kPow);
  add(TN_SCHEMA_ATAN2, kAtan2);
  add(TN_SCHEMA_HYPOT, kHypot);
  add(TN_SCHEMA_LOGADDEXP, kLogaddexp);
  add(TN_SCHEMA_GELU_BACKWARD, kGeluBackward);
  add(TN_SCHEMA_SILU_BACKWARD, kSiluBackward);
  add(TN_SCHEMA_SIGMOID_BACKWARD, kSigmoidBackward);
  add(TN_SCHEMA_TANH_BACKWARD, kTanhBackward);
}

}  // namespace tenon::vulkan
