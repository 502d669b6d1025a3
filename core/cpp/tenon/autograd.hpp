// Autograd: the modes of a thread, and gradients.
#ifndef TENON_AUTOGRAD_HPP
#define TENON_AUTOGRAD_HPP

#include "tenon/tensor.hpp"

namespace tenon {

namespace detail {
// Sets modes of this thread for the scope.
class ModeGuard {
 public:
  ModeGuard(uint32_t set, uint32_t clear) : previous_(tn_mode_get()) {
    tn_mode_set((previous_ | set) & ~clear);
  }
  ~ModeGuard() { tn_mode_set(previous_); }
  ModeGuard(const ModeGuard&) = delete;
  ModeGuard& operator=(const ModeGuard&) = delete;

 private:
  uint32_t previous_;
};
}  // namespace detail

// Ops in this scope are not recorded.
class NoGrad : detail::ModeGuard {
 public:
  NoGrad() : ModeGuard(0, TN_MODE_GRAD) {}
};
// Ops in this scope are recorded, even inside NoGrad.
class EnableGrad : detail::ModeGuard {
 public:
  EnableGrad() : ModeGuard(TN_MODE_GRAD, 0) {}
};
// Results made in this scope can never require gradients. Cheaper than NoGrad.
class InferenceMode : detail::ModeGuard {
 public:
  InferenceMode() : ModeGuard(TN_MODE_INFERENCE, TN_MODE_GRAD) {}
};
// Backward in this scope checks each gradient for NaN and names the forward op that it belongs to.
class Anomaly : detail::ModeGuard {
 public:
  Anomaly() : ModeGuard(TN_MODE_ANOMALY, 0) {}
};
inline bool is_grad_enabled() { return (tn_mode_get() & TN_MODE_GRAD) != 0; }

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;  // allows gradients of gradients; implies retain
  // For gradient(): an unused input gets an undefined tensor instead of an error.
  bool allow_unused = false;
  uint32_t flags() const {
    return (retain_graph ? TN_BACKWARD_RETAIN_GRAPH : 0u) |
           (create_graph ? TN_BACKWARD_CREATE_GRAPH : 0u) |
           (allow_unused ? TN_BACKWARD_ALLOW_UNUSED : 0u);
  }
};

namespace detail {
inline tn_tensor* const* check_grads(const char* name, const TensorList& outputs,
                                     const TensorList& grads) {
  if (grads.size() == 0) return nullptr;
  if (grads.size() != outputs.size())
    throw Error(TN_INVALID_ARGUMENT, "[" + std::string(name) + "] " + std::to_string(grads.size()) +
                                         " gradients for " + std::to_string(outputs.size()) +
                                         " outputs");
  return grads.handles();
}
}  // namespace detail

// Accumulates gradients of the outputs into the leaves.
inline void backward(TensorList outputs, TensorList grads = {}, BackwardOptions options = {}) {
  tn_tensor* const* given = detail::check_grads("backward", outputs, grads);
  detail::check(tn_backward(outputs.handles(), static_cast<uint32_t>(outputs.size()), given,
                            options.flags()));
}

// Returns the gradients of the outputs with respect to the inputs. The leaves' own gradients stay unchanged.
inline std::vector<Tensor> gradient(TensorList outputs, TensorList inputs, TensorList grads = {},
                                    BackwardOptions options = {}) {
  tn_tensor* const* given = detail::check_grads("gradient", outputs, grads);
  std::vector<tn_tensor*> raw(inputs.size(), nullptr);
  detail::check(tn_gradient(outputs.handles(), static_cast<uint32_t>(outputs.size()), given,
                            inputs.handles(), static_cast<uint32_t>(inputs.size()), options.flags(),
                            raw.data()));
  std::vector<Tensor> results;
  results.reserve(raw.size());
  for (tn_tensor* handle : raw) results.push_back(Tensor::adopt(handle));
  return results;
}
inline Tensor gradient(const Tensor& output, const Tensor& input, BackwardOptions options = {}) {
  return std::move(gradient(TensorList({output}), TensorList({input}), {}, options)[0]);
}

}  // namespace tenon
#endif
