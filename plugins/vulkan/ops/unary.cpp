// Arithmetic of one operand.
#include "shaders/unary.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t { kNeg, kSquare };  // as shaders/unary.comp

void run_unary(const tn_call& call, uint32_t op) {
  run_elementwise(call, shaders::unary, compute_of(output(call).dtype), op);
}

}  // namespace

void add_unary_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Op op, uint64_t dtypes) {
    list.add({.schema = schema,
              .dtypes = dtypes,
              .run = run_unary,
              .code = op,
              .flags = kElementwiseFlags});
  };
  add(TN_SCHEMA_NEG, kNeg, kReals);
  add(TN_SCHEMA_SQUARE, kSquare, kReals);
}

}  // namespace tenon::vulkan
