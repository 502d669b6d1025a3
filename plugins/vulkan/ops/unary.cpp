// Arithmetic and tests of one operand.
#include "shaders/unary.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t {  // as shaders/unary.comp
  kNeg,
  kAbs,
  kSign,
  kSquare,
  kFloor,
  kCeil,
  kRound,
  kTrunc,
  kRelu,
  kCopy,
  kZero,
  kNot,
  kIsNan,
  kIsInf,
  kIsFinite,
  kSignbit,
  kLogicalNot
};

void run_unary(const tn_call& call, uint32_t op) {
  run_elementwise(call, shaders::unary, compute_of(input(call, arg::neg::x).dtype), op);
}

}  // namespace

void add_unary_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Op op, uint64_t dtypes) {
    list.add_elementwise(schema, dtypes, run_unary, op);
  };
  add(TN_SCHEMA_NEG, kNeg, kReals);
  add(TN_SCHEMA_ABS, kAbs, kAll);
  add(TN_SCHEMA_SIGN, kSign, kAll);
  add(TN_SCHEMA_SQUARE, kSquare, kAll);
  add(TN_SCHEMA_FLOOR, kFloor, kAll);
  add(TN_SCHEMA_CEIL, kCeil, kAll);
  add(TN_SCHEMA_ROUND, kRound, kAll);
  add(TN_SCHEMA_TRUNC, kTrunc, kAll);
  add(TN_SCHEMA_RELU, kRelu, kReals);
  add(TN_SCHEMA_CONJ, kCopy, kAll);
  add(TN_SCHEMA_REAL, kCopy, kAll);
  add(TN_SCHEMA_IMAG, kZero, kAll);
  add(TN_SCHEMA_BITWISE_NOT, kNot, kInts | TN_MASK_BOOL);
  add(TN_SCHEMA_ISNAN, kIsNan, kAll);
  add(TN_SCHEMA_ISINF, kIsInf, kAll);
  add(TN_SCHEMA_ISFINITE, kIsFinite, kAll);
  add(TN_SCHEMA_SIGNBIT, kSignbit, kAll);
  add(TN_SCHEMA_LOGICAL_NOT, kLogicalNot, kAll);
}

}  // namespace tenon::vulkan
