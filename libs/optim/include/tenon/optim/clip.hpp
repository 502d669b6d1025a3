// Clipping of gradients.
#ifndef TENON_OPTIM_CLIP_HPP
#define TENON_OPTIM_CLIP_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/tenon.hpp"

namespace tenon::optim {

// Scales the gradients of all parameters by one factor so that their norm is at most `max_norm`.
// Returns the norm before, without waiting for the device.
inline Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                              double norm_type = 2) {
  NoGrad guard;
  std::vector<Tensor> grads;
  for (const Tensor& param : parameters)
    if (Tensor grad = param.grad(); grad.defined()) grads.push_back(std::move(grad));
  if (grads.empty()) return tensor(0.f);
  Tensor norm = multi_norm(grads, norm_type);
  multi_scale(grads, clamp(max_norm / (norm + 1e-6), {}, 1.0));
  return norm;
}

// Clamps each element of the gradients to [-clip_value, clip_value].
inline void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  nn::detail::check_least("clip_grad_value_", "clip_value", clip_value, 0);
  NoGrad guard;
  for (const Tensor& param : parameters)
    if (Tensor grad = param.grad(); grad.defined()) grad.clamp_(-clip_value, clip_value);
}

}  // namespace tenon::optim
#endif
