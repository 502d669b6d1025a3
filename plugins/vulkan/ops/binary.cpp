// Arithmetic, bits and comparisons of two operands.
#include "shaders/binary.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t {  // as shaders/binary.comp
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaximum,
  kMinimum,
  kCopysign,
  kReluBackward,
  kAnd,
  kOr,
  kXor,
  kLeftShift,
  kRightShift,
  kFloorDivide,
  kRemainder,
  kPow,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kNextafter
};

void run_binary(const tn_call& call, uint32_t op) {
  run_elementwise(call, shaders::binary, compute_of(input(call, arg::add::x).dtype), op);
}

}  // namespace

void add_binary_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Op op, uint64_t dtypes) {
    list.add_elementwise(schema, dtypes, run_binary, op);
  };
  constexpr uint64_t kRealFloats = kFloats | kDouble, kBits = kInts | TN_MASK_BOOL;
  // Adding bools is "or", where any number but 0 is true; multiplying them is "and".
  add(TN_SCHEMA_ADD, kAdd, kAll);
  add(TN_SCHEMA_SUB, kSub, kReals);
  add(TN_SCHEMA_MUL, kMul, kAll);
  add(TN_SCHEMA_DIV, kDiv, kRealFloats);
  add(TN_SCHEMA_MAXIMUM, kMaximum, kAll);
  add(TN_SCHEMA_MINIMUM, kMinimum, kAll);
  add(TN_SCHEMA_COPYSIGN, kCopysign, kRealFloats);
  add(TN_SCHEMA_RELU_BACKWARD, kReluBackward, kReals);
  add(TN_SCHEMA_BITWISE_AND, kAnd, kBits);
  add(TN_SCHEMA_BITWISE_OR, kOr, kBits);
  add(TN_SCHEMA_BITWISE_XOR, kXor, kBits);
  add(TN_SCHEMA_BITWISE_LEFT_SHIFT, kLeftShift, kInts);
  add(TN_SCHEMA_BITWISE_RIGHT_SHIFT, kRightShift, kInts);
  add(TN_SCHEMA_FLOOR_DIVIDE, kFloorDivide, kReals);
  add(TN_SCHEMA_REMAINDER, kRemainder, kReals);
  add(TN_SCHEMA_POW, kPow, kInts);
  add(TN_SCHEMA_EQUAL, kEqual, kAll);
  add(TN_SCHEMA_NOT_EQUAL, kNotEqual, kAll);
  add(TN_SCHEMA_LESS, kLess, kAll);
  add(TN_SCHEMA_LESS_EQUAL, kLessEqual, kAll);
  add(TN_SCHEMA_GREATER, kGreater, kAll);
  add(TN_SCHEMA_GREATER_EQUAL, kGreaterEqual, kAll);
  add(TN_SCHEMA_LOGICAL_AND, kLogicalAnd, kAll);
  add(TN_SCHEMA_LOGICAL_OR, kLogicalOr, kAll);
  add(TN_SCHEMA_LOGICAL_XOR, kLogicalXor, kAll);
  add(TN_SCHEMA_NEXTAFTER, kNextafter, kRealFloats);
}

}  // namespace tenon::vulkan
