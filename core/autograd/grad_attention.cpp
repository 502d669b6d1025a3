// The gradient of attention.
#include "autograd/grad_tools.hpp"
#include "composite/attention.hpp"

// y = softmax(scale·q·kᵀ + mask)·v; the fused op gives q's, k's and v's, and the mask's is that of the scores
TN_GRADIENT(attention, {.always = in_(0) | in_(1) | in_(2) | in_(3) | out_(0) | out_(1)}) {
  const Tensor q = c.in(0), k = c.in(1), v = c.in(2), mask = c.in(3), y = c.out(0), lse = c.out(1),
               glse = c.grad(1);
  const Tensor g = c.grad().defined() ? c.grad() : zeros(y.shape(), y);
  const auto scale = c.has(5) ? std::optional(c.real(5)) : std::nullopt;
  if (c.needs(3)) {
    const Attention a = make_attention(q, k, v, mask, c.flag(4), scale);
    c.set(3, a.score_gradient(Attention::weights(a.scores(), lse), g, y, glse));
  }
  if (!c.needs(0) && !c.needs(1) && !c.needs(2)) return;
  const auto grads = attention_backward(g, q, k, v, y, lse, glse, mask, c.flag(4), scale);
  c.set(0, grads.gq);
  c.set(1, grads.gk);
  c.set(2, grads.gv);
}
