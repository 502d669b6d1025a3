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
// What the gradient of a call reads when the arguments of the mask `needed` require a gradient.
Masks saves(const tn_op& op, const tn_value* args, uint32_t needed);
// Ties `outs` to the arguments, but those of no differentiable dtype. `args` are complete. False
// when there is nothing to record. `originals`: of a call in place, by output, what it overwrote,
// NULL entries where nobody needs that; else NULL.
bool put_on_tape(const tn_op& op, const tn_value* args, tn_tensor* const* outs, uint32_t nouts,
                 const Ref* originals);
// Makes a tensor a constant.
void forget_history(tn_tensor& tensor);

}  // namespace tenon::core
