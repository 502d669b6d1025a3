// Autocast: inside its scope, each op computes in the precision that suits it.
#ifndef TENON_AMP_AUTOCAST_HPP
#define TENON_AMP_AUTOCAST_HPP

#include "tenon/amp/detail/autocast_layer.hpp"

namespace tenon::amp {

// While it lives, ops of this thread on devices of a kind ("cpu", "cuda", …) compute in the precision that the table of ops says
// (docs/ops.md): products, convolutions and attention in `dtype`, losses in f32, on GPUs also exponentials, norms and sums; other ops
// in what they are given. f64, integers and tensors on other devices stay. Copies of f32 parameters in `dtype` are kept until the
// outermost scope ends (cache). Scopes nest; `enabled` = false switches an outer one off. End the scope before backward(): gradients
// have the precision of the forward pass.
//
//   Tensor loss;
//   {
//     amp::Autocast autocast("cpu", DType::BF16);
//     loss = cross_entropy(model.forward(x), y);
//   }
//   loss.backward();
//
// Throws Error(TN_INVALID_ARGUMENT) where dtype is neither bf16 nor f16. Belongs to the thread that made it.
class Autocast {
 public:
  explicit Autocast(std::string_view kind, DType dtype = DType::BF16, bool enabled = true,
                    bool cache = true)
      : scope_(kind, {dtype, enabled, cache}) {}

 private:
  detail::Scope scope_;
};

// The settings of this thread for devices of a kind; not enabled outside of all scopes.
inline Setting autocast_setting(std::string_view kind) {
  return detail::AutocastLayer::of_this_thread().setting(kind);
}

}  // namespace tenon::amp
#endif
