// Clipping of gradients.
#ifndef TENON_OPTIM_CLIP_HPP
#define TENON_OPTIM_CLIP_HPP

#include "tenon/tenon.hpp"

namespace tenon::optim {

// Scales the gradients of all parameters down together so that their norm is at most `max_norm`.
// Gives the norm before, without waiting for the device.
inline Tensor clip_grad_norm(const std::vector<Tensor>& params, double max_norm, double p = 2) {
  NoGrad guard;
  std::vector<Tensor> grads;
  for (const Tensor& param : params)
    if (Tensor grad = param.grad(); grad.defined()) grads.push_back(std::move(grad));
  if (grads.empty()) return tensor(0.f);
  Tensor norm = multi_norm(grads, p);
  multi_scale(grads, clamp(max_norm / (norm + 1e-6), {}, 1.0));
  return norm;
}

// Limits every element of the gradients to [-limit, limit].
inline void clip_grad_value(const std::vector<Tensor>& params, double limit) {
  NoGrad guard;
  for (const Tensor& param : params)
    if (Tensor grad = param.grad(); grad.defined()) grad.clamp_(-limit, limit);
}

}  // namespace tenon::optim
#endif
