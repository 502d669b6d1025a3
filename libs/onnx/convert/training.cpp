// Optimizer steps from ONNX's training preview. Each returns for every parameter a new value, then its new state.
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

// The inputs after R and T are lists of n parameters, their gradients and their states.
template <size_t kKinds>
size_t parameters(const Call& call) {
  if (call.size() < 2 + kKinds || (call.size() - 2) % kKinds != 0)
    call.fail("inputs that are no whole lists");
  return (call.size() - 2) / kKinds;
}

Results adagrad(const Call& call) {
  const size_t n = parameters<3>(call);
  const double decay = call.f("decay_factor", 0), norm = call.f("norm_coefficient", 0),
               eps = call.f("epsilon", 1e-6F);
  const double rate = call.number(0) / (1 + call.number(1) * decay);
  std::vector<Value> made(2 * n);
  for (size_t i = 0; i < n; ++i) {
    const Tensor x = call.x(2 + i), g = x * norm + call.x(2 + n + i),
                 h = call.x(2 + 2 * n + i) + g.square();
    made[i] = x - g * rate / (sqrt(h) + eps);
    made[n + i] = h;
  }
  return made;
}

Results adam(const Call& call) {
  const size_t n = parameters<4>(call);
  const double alpha = call.f("alpha", 0.9F), beta = call.f("beta", 0.999F),
               eps = call.f("epsilon", 1e-6F);
  const double norm = call.f("norm_coefficient", 0), after = call.f("norm_coefficient_post", 0),
               t = call.number(1);
  double rate = call.number(0);
  if (t > 0) rate *= std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t));
  std::vector<Value> made(3 * n);
  for (size_t i = 0; i < n; ++i) {
    const Tensor x = call.x(2 + i), g = x * norm + call.x(2 + n + i);
    const Tensor v = call.x(2 + 2 * n + i) * alpha + g * (1 - alpha),
                 h = call.x(2 + 3 * n + i) * beta + g.square() * (1 - beta);
    made[i] = (x - v * rate / (sqrt(h) + eps)) * (1 - after);
    made[n + i] = v;
    made[2 * n + i] = h;
  }
  return made;
}

Results momentum(const Call& call) {
  const size_t n = parameters<3>(call);
  const double rate = call.number(0), alpha = call.f("alpha", 0),
               norm = call.f("norm_coefficient", 0);
  const double beta = call.number(1) > 0 ? call.f("beta", 1) : 1;
  const bool nesterov = call.s("mode", "standard") == "nesterov";
  std::vector<Value> made(2 * n);
  for (size_t i = 0; i < n; ++i) {
    const Tensor x = call.x(2 + i), g = x * norm + call.x(2 + n + i),
                 v = call.x(2 + 2 * n + i) * alpha + g * beta;
    made[i] = x - (nesterov ? g + v * alpha : v) * rate;
    made[n + i] = v;
  }
  return made;
}

}  // namespace

Family training_ops() {
  static const Entry ops[] = {
      {"Adagrad", 1, adagrad, kTraining},
      {"Adam", 1, adam, kTraining},
      {"Momentum", 1, momentum, kTraining},
  };
  return ops;
}

}  // namespace tenon::onnx
