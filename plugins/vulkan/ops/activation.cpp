// Activations of networks.
#include "shaders/activation.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

namespace code {
enum : uint32_t {
#define OP(op, value) op = __LINE__,
#define VARIANT OP
#include "../shaders/activation.def"
#undef VARIANT
#undef OP
};
}  // namespace code

void run_activation(const tn_call& call, uint32_t op) {
  if (op == code::GELU && text_arg(call, arg::gelu::approximate) == "tanh") op = code::GELU_TANH;
  const Compute compute = compute_of(output(call).dtype);
  const bool has_one = op == code::ELU || op == code::LEAKY_RELU || op == code::SOFTPLUS;
  // leaky_relu has its slope and softplus its beta where elu has alpha.
  const auto words =
      attributes(compute, has_one ? real_arg(call, arg::elu::alpha) : 0,
                 op == code::SOFTPLUS ? real_arg(call, arg::softplus::threshold) : 0);
  run_elementwise(call, shaders::activation, compute, op, words);
}

}  // namespace

void add_activation_kernels(KernelList& list) {
#define OP(op, value) \
  list.add_elementwise(TN_SCHEMA_##op, kFloats | kDouble, run_activation, code::op);
#define VARIANT(op, value)
#include "../shaders/activation.def"
#undef VARIANT
#undef OP
}

}  // namespace tenon::vulkan
