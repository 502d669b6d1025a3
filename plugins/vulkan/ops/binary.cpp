// Arithmetic of two operands.
#include "shaders/binary.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t { kAdd, kSub, kMul, kDiv };  // as shaders/binary.comp

void run_binary(const tn_call& call, uint32_t op) {
  run_elementwise(call, shaders::binary, compute_of(output(call).dtype), op);
}

}  // namespace

void add_binary_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Op op, uint64_t dtypes) {
    list.add({.schema = schema,
              .dtypes = dtypes,
              .run = run_binary,
              .code = op,
              .flags = kElementwiseFlags});
  };
  add(TN_SCHEMA_ADD, kAdd, kReals);
  add(TN_SCHEMA_SUB, kSub, kReals);
  add(TN_SCHEMA_MUL, kMul, kReals);
  add(TN_SCHEMA_DIV, kDiv, kFloats | kDouble);
}

}  // namespace tenon::vulkan
