// Activations of networks.
#include "shaders/activation.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t {  // as shaders/activation.comp
  kSigmoid,
  kSilu,
  kGelu,
  kGeluTanh,
  kElu,
  kLeakyRelu,
  kSoftplus
};

void run_activation(const tn_call& call, uint32_t op) {
  if (op == kGelu && text_arg(call, arg::gelu::approximate) == "tanh") op = kGeluTanh;
  const Compute compute = compute_of(output(call).dtype);
  const bool has_one = op == kElu || op == kLeakyRelu || op == kSoftplus;
  // leaky_relu has its slope and softplus its beta where elu has alpha.
  const auto words = attributes(compute, has_one ? real_arg(call, arg::elu::alpha) : 0,
                                op == kSoftplus ? real_arg(call, arg::softplus::threshold) : 0);
  run_elementwise(call, shaders::activation, compute, op, words);
}

}  // namespace

void add_activation_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Op op) {
    list.add_elementwise(schema, kFloats | kDouble, run_activation, op);
  };
  add(TN_SCHEMA_SIGMOID, kSigmoid);
  add(TN_SCHEMA_SILU, kSilu);
  add(TN_SCHEMA_GELU, kGelu);
  add(TN_SCHEMA_ELU, kElu);
  add(TN_SCHEMA_LEAKY_RELU, kLeakyRelu);
  add(TN_SCHEMA_SOFTPLUS, kSoftplus);
}

}  // namespace tenon::vulkan
