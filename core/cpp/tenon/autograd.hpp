// Modes, gradients, custom functions and checkpointing.
#ifndef TENON_AUTOGRAD_HPP
#define TENON_AUTOGRAD_HPP

#include <typeinfo>

#include "tenon/tensor.hpp"

namespace tenon {

namespace detail {
// Sets modes of this thread for a scope.
class ModeGuard {
 public:
  ModeGuard(uint32_t set, uint32_t clear) : previous_(tn_mode_get()) { tn_mode_set((previous_ | set) & ~clear); }
  ~ModeGuard() { tn_mode_set(previous_); }
  ModeGuard(const ModeGuard&) = delete;
  ModeGuard& operator=(const ModeGuard&) = delete;

 private:
  uint32_t previous_;
};
}  // namespace detail

// No op is recorded in this scope.
class NoGrad : detail::ModeGuard {
 public:
  NoGrad() : ModeGuard(0, TN_MODE_GRAD) {}
};
// Ops are recorded in this scope, also inside NoGrad.
class EnableGrad : detail::ModeGuard {
 public:
  EnableGrad() : ModeGuard(TN_MODE_GRAD, 0) {}
};
// Results of this scope can never join a graph; cheaper than NoGrad.
class InferenceMode : detail::ModeGuard {
 public:
  InferenceMode() : ModeGuard(TN_MODE_INFERENCE, TN_MODE_GRAD) {}
};
// Backward in this scope checks each gradient for NaN and names the op of the forward pass that made it.
class Anomaly : detail::ModeGuard {
 public:
  Anomaly() : ModeGuard(TN_MODE_ANOMALY, 0) {}
};
inline bool is_grad_enabled() { return (tn_mode_get() & TN_MODE_GRAD) != 0; }

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;  // gradients of gradients; retains
  bool allow_unused = false;  // gradient(): an input that was not used gets an undefined tensor instead of an error
  uint32_t flags() const {
    return (retain_graph ? TN_BACKWARD_RETAIN_GRAPH : 0u) | (create_graph ? TN_BACKWARD_CREATE_GRAPH : 0u) |
           (allow_unused ? TN_BACKWARD_ALLOW_UNUSED : 0u);
  }
};

namespace detail {
inline tn_tensor* const* check_grads(const char* name, const TensorList& outputs, const TensorList& grads) {
  if (grads.size() == 0) return nullptr;
  if (grads.size() != outputs.size())
    throw Error(TN_INVALID_ARGUMENT, "[" + std::string(name) + "] " + std::to_string(grads.size()) +
                                         " gradients for " + std::to_string(outputs.size()) + " outputs");
  return grads.handles();
}
}  // namespace detail

// Accumulates gradients of the outputs into the leaves.
inline void backward(TensorList outputs, TensorList grads = {}, BackwardOptions options = {}) {
  tn_tensor* const* given = detail::check_grads("backward", outputs, grads);
  detail::check(tn_backward(outputs.handles(), static_cast<uint32_t>(outputs.size()), given, options.flags()));
}

// Gradients of the outputs with respect to the inputs; the leaves' own gradients stay as they are.
inline std::vector<Tensor> gradient(TensorList outputs, TensorList inputs, TensorList grads = {},
                                    BackwardOptions options = {}) {
  tn_tensor* const* given = detail::check_grads("gradient", outputs, grads);
  std::vector<tn_tensor*> raw(inputs.size(), nullptr);
  detail::check(tn_gradient(outputs.handles(), static_cast<uint32_t>(outputs.size()), given, inputs.handles(),
                            static_cast<uint32_t>(inputs.size()), options.flags(), raw.data()));
  std::vector<Tensor> results;
  results.reserve(raw.size());
  for (tn_tensor* handle : raw) results.push_back(Tensor::adopt(handle));
  return results;
}
inline Tensor gradient(const Tensor& output, const Tensor& input, BackwardOptions options = {}) {
  return std::move(gradient(TensorList({output}), TensorList({input}), {}, options)[0]);
}

// A function with a backward of its own. Derive, and call Derived::apply(arguments…):
//
//   struct Cube : Function<Cube> {
//     Tensor forward(const Tensor& x) { save({x}); return x * x * x; }
//     Tensor backward(const Tensor& grad) { return grad * 3 * saved(0).square(); }
//   };
//
// forward returns a Tensor or a vector of them; nothing inside it is recorded. backward takes a Tensor or a vector of one
// gradient per output (undefined where none arrived), and gives one gradient per tensor argument, undefined for none.
// Fields of Derived live as long as the graph.
template <class Derived>
class Function {
 public:
  virtual ~Function() = default;
  template <class... Args>
  static auto apply(const Args&... args);

 protected:
  // Keeps tensors for backward: arguments, results, or anything made on the way.
  void save(std::vector<Tensor> tensors) { saved_ = std::move(tensors); }
  Tensor saved(size_t i) const;
  bool needs_grad(size_t input) const { return needs_.at(input); }

 private:
  struct Saved {
    int64_t output = -1;  // which result it is; those are kept without history, as the graph would hold itself
    uint32_t version = 0;
  };
  // What errors and anomaly mode call it: Derived::name where there is one.
  static std::string_view title() {
    if constexpr (requires { std::string_view(Derived::name); }) return Derived::name;
    else return typeid(Derived).name();
  }
  static std::vector<Tensor> as_vector(const Tensor& x) { return {x}; }
  static std::vector<Tensor> as_vector(std::vector<Tensor> xs) { return xs; }
  static void append(std::vector<Tensor>& inputs, const Tensor& x) { inputs.push_back(x); }
  static void append(std::vector<Tensor>& inputs, const std::vector<Tensor>& xs) {
    inputs.insert(inputs.end(), xs.begin(), xs.end());
  }
  template <class T>
  static void append(std::vector<Tensor>&, const T&) {}

  void seal(const std::vector<Tensor>& outputs, std::function<std::vector<Tensor>()> again);
  std::vector<Tensor> run_backward(std::vector<Tensor> grads, size_t ninputs);
  static tn_status* backward_thunk(void* ctx, tn_tensor* const* grads, uint32_t ngrads, tn_tensor** results,
                                   uint32_t nresults);

  std::vector<Tensor> saved_;
  std::vector<Saved> saved_info_;
  std::vector<bool> needs_;
  std::function<std::vector<Tensor>()> again_;  // makes the results anew, with their history
  mutable std::vector<Tensor> remade_;
};

template <class Derived>
template <class... Args>
auto Function<Derived>::apply(const Args&... args) {
  static_assert(std::is_base_of_v<Function, Derived>);
  auto object = std::make_unique<Derived>();
  std::vector<Tensor> inputs;
  (append(inputs, args), ...);
  bool recorded = false;
  for (const Tensor& input : inputs) {
    object->needs_.push_back(is_grad_enabled() && input.defined() && input.requires_grad());
    recorded |= object->needs_.back();
  }
  auto result = [&] {
    NoGrad guard;
    return object->forward(args...);
  }();
  if (!recorded) return result;
  std::vector<Tensor> outputs = as_vector(result);
  object->seal(outputs, [args...] { return as_vector(Derived::apply(args...)); });
  tn_function function{};
  function.struct_size = sizeof(function);
  function.name = detail::to_str(title());
  function.backward = &backward_thunk;
  function.destroy = [](void* ctx) { delete static_cast<Derived*>(ctx); };
  function.ctx = object.release();
  detail::check(tn_function_record(&function, TensorList(inputs).handles(), static_cast<uint32_t>(inputs.size()),
                                   TensorList(outputs).handles(), static_cast<uint32_t>(outputs.size())));
  return result;
}

template <class Derived>
void Function<Derived>::seal(const std::vector<Tensor>& outputs, std::function<std::vector<Tensor>()> again) {
  bool any_output = false;
  for (Tensor& tensor : saved_) {
    Saved info;
    for (size_t k = 0; k < outputs.size(); ++k)
      if (tensor.defined() && tensor.get() == outputs[k].get()) info.output = static_cast<int64_t>(k);
    if (info.output >= 0) tensor = tensor.detach();
    if (tensor.defined()) info.version = tensor.version();
    any_output |= info.output >= 0;
    saved_info_.push_back(info);
  }
  if (any_output) again_ = std::move(again);
}

template <class Derived>
Tensor Function<Derived>::saved(size_t i) const {
  const Tensor& tensor = saved_.at(i);
  const Saved& info = saved_info_.at(i);
  if (tensor.defined() && tensor.version() != info.version)
    throw Error(TN_FAILED_PRECONDITION, "[" + std::string(title()) + "] saved tensor " +
                                            std::to_string(i) + " was changed in place after it was saved");
  if (info.output < 0 || !is_grad_enabled()) return tensor;
  if (remade_.empty()) remade_ = again_();
  return remade_.at(static_cast<size_t>(info.output));
}

template <class Derived>
std::vector<Tensor> Function<Derived>::run_backward(std::vector<Tensor> grads, size_t ninputs) {
  auto& self = static_cast<Derived&>(*this);
  std::vector<Tensor> results;
  if constexpr (requires { self.backward(grads); }) {
    results = as_vector(self.backward(grads));
  } else {
    if (grads.size() != 1)
      throw Error(TN_INVALID_ARGUMENT, "[backward] a function of several results takes a vector of gradients");
    results = as_vector(self.backward(grads[0]));
  }
  remade_.clear();
  if (results.size() != ninputs)
    throw Error(TN_INVALID_ARGUMENT, "[backward] " + std::to_string(results.size()) + " gradients for " +
                                         std::to_string(ninputs) + " tensor arguments");
  return results;
}

template <class Derived>
tn_status* Function<Derived>::backward_thunk(void* ctx, tn_tensor* const* grads, uint32_t ngrads,
                                             tn_tensor** results, uint32_t nresults) {
  return detail::guarded("backward", [&] {
    std::vector<Tensor> given;
    for (uint32_t i = 0; i < ngrads; ++i) given.push_back(Tensor::share(grads[i]));
    auto found = static_cast<Derived*>(ctx)->run_backward(std::move(given), nresults);
    for (uint32_t i = 0; i < nresults; ++i) results[i] = found[i].take();
  });
}

namespace detail {
using CheckpointFn = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct Checkpoint : Function<Checkpoint> {
  static constexpr std::string_view name = "checkpoint";
  CheckpointFn fn;
  Generator::State rng;
  size_t ninputs = 0, count = 0;

  std::vector<Tensor> forward(const CheckpointFn& body, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& captured) {
    fn = body;
    ninputs = inputs.size();
    rng = default_generator().state();
    auto kept = inputs;
    kept.insert(kept.end(), captured.begin(), captured.end());
    count = kept.size();
    save(std::move(kept));
    return fn(inputs);
  }

  // Runs the function again with the random numbers of the first time, then differentiates that.
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
    auto found = gradient(live, wanted, live_grads, {.create_graph = create_graph, .allow_unused = true});
    for (size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(found[i]);
    return results;
  }
};
}  // namespace detail

// Runs `fn` without keeping what its backward needs, and runs it again in backward: memory against time. Random numbers are
// the same both times. Tensors that `fn` uses without getting them as inputs (parameters) get gradients when they are
// named in `captured`.
inline std::vector<Tensor> checkpoint(const detail::CheckpointFn& fn, const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& captured = {}) {
  return detail::Checkpoint::apply(fn, inputs, captured);
}
template <class Fn>
  requires std::is_invocable_r_v<Tensor, const Fn&, const Tensor&>
Tensor checkpoint(const Fn& fn, const Tensor& input, const std::vector<Tensor>& captured = {}) {
  const detail::CheckpointFn body = [fn](const std::vector<Tensor>& xs) { return std::vector<Tensor>{fn(xs[0])}; };
  return std::move(checkpoint(body, std::vector<Tensor>{input}, captured)[0]);
}

}  // namespace tenon
#endif
