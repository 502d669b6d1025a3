// Checkpoints: parts of a network that backward computes again instead of keeping their results.
#ifndef TENON_CHECKPOINT_HPP
#define TENON_CHECKPOINT_HPP

#include "tenon/function.hpp"

namespace tenon {

namespace detail {
using CheckpointFn = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct Checkpoint : Function<Checkpoint> {
  static constexpr std::string_view name = "checkpoint";
  CheckpointFn fn;
  Generator::State rng;
  size_t ninputs = 0, count = 0;

  std::vector<Tensor> forward(const CheckpointFn& body, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& outside) {
    fn = body;
    ninputs = inputs.size();
    rng = default_generator().state();
    auto kept = inputs;
    kept.insert(kept.end(), outside.begin(), outside.end());
    count = kept.size();
    save(std::move(kept));
    return fn(inputs);
  }

  // Runs the function again with the same random numbers, then differentiates it.
  std::vector<Tensor> backward(const std::vector<Tensor>& grads) {
    const bool create_graph = is_grad_enabled();
    EnableGrad enable;
    std::vector<Tensor> inputs, wanted;
    std::vector<size_t> places;
    for (size_t i = 0; i < count; ++i) {
      Tensor x = saved(i);
      if (i < ninputs && needs_grad(i)) x = create_graph ? alias(x) : x.detach().requires_grad_();
      if (i < ninputs) inputs.push_back(x);
      if (needs_grad(i)) {
        wanted.push_back(x);
        places.push_back(i);
      }
    }
    const Generator generator = default_generator();
    const Generator::State now = generator.state();
    Generator(generator).set_state(rng);
    std::vector<Tensor> outputs = fn(inputs);
    Generator(generator).set_state(now);
    std::vector<Tensor> live, live_grads;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!grads[k].defined() || !outputs[k].requires_grad()) continue;
      live.push_back(outputs[k]);
      live_grads.push_back(grads[k]);
    }
    std::vector<Tensor> results(count);
    if (live.empty()) return results;
    auto found =
        gradient(live, wanted, live_grads, {.create_graph = create_graph, .allow_unused = true});
    for (size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(found[i]);
    return results;
  }
};
}  // namespace detail

// Runs `fn` without keeping what its backward needs, and runs it again in backward: saves memory, costs time. Random numbers are the same
// both times. Tensors that `fn` uses without taking them as inputs (parameters) get gradients if they are in `captured`.
inline std::vector<Tensor> checkpoint(const detail::CheckpointFn& fn,
                                      const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& captured = {}) {
  return detail::Checkpoint::apply(fn, inputs, captured);
}
template <class Fn>
requires std::is_invocable_r_v<Tensor, const Fn&, const Tensor&> Tensor
checkpoint(const Fn& fn, const Tensor& input, const std::vector<Tensor>& captured = {}) {
  const detail::CheckpointFn body = [fn](const std::vector<Tensor>& xs) {
    return std::vector<Tensor>{fn(xs[0])};
  };
  return std::move(checkpoint(body, std::vector<Tensor>{input}, captured)[0]);
}

}  // namespace tenon
#endif
