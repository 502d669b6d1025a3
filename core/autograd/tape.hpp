// Putting nodes on the tape: what recording calls, views and writes in place share.
#pragma once

#include "dispatch/op.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {

// Which arguments and results are saved, as bits.
struct Masks {
  uint64_t in = 0;
  uint64_t out = 0;
};

bool has_gradient(const tn_op& op);
// What the gradient of a call reads, by which of its arguments require a gradient.
Masks saves(const tn_op& op, const tn_value* args);
// Makes a tensor a constant.
void forget_history(tn_tensor& tensor);

}  // namespace tenon::core
