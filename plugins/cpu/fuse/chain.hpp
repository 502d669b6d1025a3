// Cheap ops one behind another, each on what the one before gave: a tile passes through them in registers, not through the first cache once
// for each of them. Only ops of f32 whose bits IEEE 754 fixes, and of i32, so that they are
// those of the eager kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/dtype.h"

namespace tenon::cpu {

struct Fused;

enum class ChainCode : uint8_t {
  kNone,
  kLoad,
  kStore,
  kStream,  // a store that leaves no copy in caches, of what is too large for them
  kAdd,
  kSub,
  kSubFrom,  // the operand minus the value
  kMul,
  kDiv,
  kAddInt,
  kSubInt,
  kSubIntFrom,
  kDivInto,  // the operand over the value
  kDouble,   // the value plus itself
  kSquare,
  kNeg,
  kAbs,
  kSqrt,
  kRelu,
  kRound,
  kClamp,    // between `low` and `high`
  kFromInt,  // i32 to f32
};

struct ChainOp {
  ChainCode code;
  bool one;  // the operand is one value for all elements
  uint16_t place;
  float low = 0, high = 0;
  bool writes() const { return code == ChainCode::kStore || code == ChainCode::kStream; }
  bool reads() const {
    return code == ChainCode::kLoad || (code >= ChainCode::kAdd && code <= ChainCode::kDivInto);
  }
};

// Of an op over operands of one dtype with results of another; kNone if it is not cheap.
ChainCode cheap_op(std::string_view schema, tn_dtype in, tn_dtype out);

// Makes chains of the steps that may be; `places`: how many there are.
void make_chains(Fused& fused, size_t places);

// Elements [0, n) of a chain.
using RunChain = void (*)(const ChainOp* ops, size_t count, char* const* places, int64_t n);
RunChain chain_runner();

}  // namespace tenon::cpu
