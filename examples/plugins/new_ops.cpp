// New ops in C++: one with its own gradient and a kernel for the CPU, and one that is only a decomposition.
#include <cmath>

#include "tenon/new_op.hpp"

using namespace tenon::sdk;

namespace {

// swish(x) = x · σ(βx). Where there is no kernel this runs, on any device and dtype.
Handle swish(const OpArgs& args) {
  const Handle x = args.tensor(0);
  return x * call("sigmoid", x * args.real(1));
}
// d/dx = s + βx·s·(1 − s) with s = σ(βx). It is written in ops, so it has gradients of its own.
void swish_gradient(GradCall& grad) {
  const double beta = grad.real(1);
  const Handle x = grad.saved_input(0), s = call("sigmoid", x * beta);
  grad.set(0, grad.grad() * (s + beta * x * s * (1 - s)));
}
void swish_f32(std::span<const float> x, double beta, std::span<float> y) {
  const auto b = static_cast<float>(beta);
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] / (1 + std::exp(-b * x[i]));
}

// squareplus(x) = (x + √(x² + b)) / 2, a smooth relu. The core differentiates it.
Handle squareplus(const OpArgs& args) {
  const Handle x = args.tensor(0);
  return (x + call("sqrt", call("square", x) + args.real(1))) / 2;
}

void start(Registry& registry) {
  constexpr std::string_view kSwish = "acme.swish(Tensor x, float beta=1.0) -> Tensor @1";
  registry.op(new_op<swish, swish_gradient>(kSwish, /*saved_inputs=*/0b01));
  registry.op(new_op<squareplus>("acme.squareplus(Tensor x, float b=4.0) -> Tensor @1"));
  registry.kernels("cpu", {kernel<swish_f32>(kSwish)});
}

}  // namespace

TENON_PLUGIN("com.acme.ops", "1.0.0", start)
