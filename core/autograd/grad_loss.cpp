// Gradients of losses that are ops of their own.
#include "autograd/grad_tools.hpp"

// −w[t]·x[t]: −w[t]·g at the target, divided by the total weight for the mean
TN_GRADIENT(nll_loss, {.always = in_(0) | in_(1) | in_(2) | out_(1)}) {
  if (!c.grad().defined() || !c.needs(0)) return;
  c.set(0,
        nll_loss_backward(c.grad(), c.in(0), c.in(1), c.in(2), c.out(1), c.str(3), c.integer(4)));
}

// linear in g: its adjoint is the loss
TN_GRADIENT(nll_loss_backward, {.always = in_(2) | in_(3)}) {
  if (c.needs(0)) c.set(0, nll_loss(c.grad(), c.in(2), c.in(3), c.str(5), c.integer(6)).loss);
}
