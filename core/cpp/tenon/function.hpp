// Functions with a backward of their own.
#ifndef TENON_FUNCTION_HPP
#define TENON_FUNCTION_HPP

#include <functional>
#include <memory>
#include <typeinfo>

#include "tenon/autograd.hpp"

namespace tenon {

// A function with its own backward. Derive, and call Derived::apply(arguments…):
//
//   struct Cube : Function<Cube> {
//     Tensor forward(const Tensor& x) { save({x}); return x * x * x; }
//     Tensor backward(const Tensor& grad) { return grad * 3 * saved(0).square(); }
//   };
//
// forward returns a Tensor or a vector of them; nothing inside it is recorded. backward takes a Tensor or a vector with one gradient per
// output (undefined if none arrived), and returns one gradient per tensor argument, undefined for none. Fields of Derived live as long as
// the graph.
template <class Derived>
class Function {
 public:
  virtual ~Function() = default;
  template <class... Args>
  static auto apply(const Args&... args);

 protected:
  // Keeps tensors for backward: arguments, results, or anything in between.
  void save(std::vector<Tensor> tensors) { saved_ = std::move(tensors); }
  Tensor saved(size_t i) const;
  bool needs_grad(size_t input) const { return needs_.at(input); }

 private:
  struct Saved {
    // Index of the result. Results are kept without history, because the graph would otherwise hold itself.
    int64_t output = -1;
    uint32_t version = 0;
  };
  // Its name in errors and in anomaly mode: Derived::name if there is one.
  static std::string_view title() {
    if constexpr (requires { std::string_view(Derived::name); })
      return Derived::name;
    else
      return typeid(Derived).name();
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
  static tn_status* backward_thunk(void* ctx, tn_tensor* const* grads, uint32_t ngrads,
                                   tn_tensor** results, uint32_t nresults);

  // One running backward: several threads may run the same graph at once.
  struct Pass {
    const Function* of;
    std::vector<Tensor> remade{};
    Pass* outer = std::exchange(innermost(), this);
    explicit Pass(const Function* function) : of(function) {}
    ~Pass() { innermost() = outer; }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    static Pass*& innermost() {
      static thread_local Pass* pass = nullptr;
      return pass;
    }
  };

  std::vector<Tensor> saved_;
  std::vector<Saved> saved_info_;
  std::vector<bool> needs_;
  std::function<std::vector<Tensor>()> again_;  // computes the results again, with their history
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
  detail::check(tn_function_record(
      &function, TensorList(inputs).handles(), static_cast<uint32_t>(inputs.size()),
      TensorList(outputs).handles(), static_cast<uint32_t>(outputs.size())));
  return result;
}

template <class Derived>
void Function<Derived>::seal(const std::vector<Tensor>& outputs,
                             std::function<std::vector<Tensor>()> again) {
  bool any_output = false;
  for (Tensor& tensor : saved_) {
    Saved info;
    for (size_t k = 0; k < outputs.size(); ++k)
      if (tensor.defined() && tensor.get() == outputs[k].get())
        info.output = static_cast<int64_t>(k);
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
                                            std::to_string(i) +
                                            " was changed in place after it was saved");
  if (info.output < 0 || !is_grad_enabled()) return tensor;
  const auto output = static_cast<size_t>(info.output);
  Pass* const pass = Pass::innermost();
  if (pass == nullptr || pass->of != this) return again_().at(output);
  if (pass->remade.empty()) pass->remade = again_();
  return pass->remade.at(output);
}

template <class Derived>
std::vector<Tensor> Function<Derived>::run_backward(std::vector<Tensor> grads, size_t ninputs) {
  auto& self = static_cast<Derived&>(*this);
  Pass pass(this);
  std::vector<Tensor> results;
  if constexpr (requires { self.backward(grads); }) {
    results = as_vector(self.backward(grads));
  } else {
    if (grads.size() != 1)
      throw Error(TN_INVALID_ARGUMENT,
                  "[backward] a function of several results takes a vector of gradients");
    results = as_vector(self.backward(grads[0]));
  }
  if (results.size() != ninputs)
    throw Error(TN_INVALID_ARGUMENT, "[backward] " + std::to_string(results.size()) +
                                         " gradients for " + std::to_string(ninputs) +
                                         " tensor arguments");
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

}  // namespace tenon
#endif
