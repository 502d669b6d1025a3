// Modules: networks or parts of one, with named parameters, buffers and parts.
#ifndef TENON_NN_MODULE_HPP
#define TENON_NN_MODULE_HPP

#include <algorithm>
#include <concepts>
#include <set>

#include "tenon/nn/detail/node.hpp"
#include "tenon/nn/detail/tensors.hpp"

namespace tenon::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using StateDict = std::map<std::string, Tensor>;

// A registered tensor of a module: a field that works like a Tensor and that to() and load_state_dict() can replace.
class Parameter {
 public:
  Parameter() = default;
  Parameter(Parameter&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  Parameter& operator=(Parameter&& other) noexcept {
    slot_ = std::exchange(other.slot_, nullptr);
    return *this;
  }
  Parameter& operator=(const Parameter&) = default;
  // For the copy of a module: the copy of the tensor.
  Parameter(const Parameter& other) : slot_(other.slot_) {
    if (const auto* copying = detail::Copying::current()) slot_ = copying->copy_of(slot_);
  }
  operator const Tensor&() const { return get(); }
  const Tensor& operator*() const { return get(); }
  Tensor* operator->() const { return &slot().tensor; }
  bool defined() const { return slot_ != nullptr && slot_->tensor.defined(); }
  const Tensor& get() const { return slot().tensor; }
  // Replaces the tensor. Optimizers keep the old one.
  void set(Tensor tensor) const { slot().tensor = std::move(tensor); }

 private:
  friend class AnyModule;
  explicit Parameter(detail::Slot* slot) : slot_(slot) {}
  detail::Slot& slot() const {
    if (slot_ == nullptr)
      throw Error(
          TN_FAILED_PRECONDITION,
          "[nn] a Parameter is empty: assign what add_parameter() returns, and use no module "
          "after it was moved");
    return *slot_;
  }
  detail::Slot* slot_ = nullptr;
};

// What all modules share, whatever their forward takes and returns. Module and ModuleOf derive from it.
class AnyModule {
 public:
  AnyModule() : node_(std::make_unique<detail::Node>()) { node_->self = this; }
  AnyModule(AnyModule&& other) noexcept : node_(std::move(other.node_)) {
    if (node_ != nullptr) node_->self = this;
  }
  // If this is a part, the new module is that part from now on.
  AnyModule& operator=(AnyModule&& other) noexcept {
    if (this == &other) return *this;
    if (node_ != nullptr) node_->replace_by(other.node_.get());
    node_ = std::move(other.node_);
    if (node_ != nullptr) node_->self = this;
    return *this;
  }
  AnyModule& operator=(const AnyModule&) = delete;
  virtual ~AnyModule() = default;

  // Calls a module that takes and returns one tensor.
  Tensor operator()(const Tensor& x) { return call_one(x); }
  // Calls the module with tensors whose number is only known at run time. Returns the tensors of the result.
  virtual std::vector<Tensor> call(std::span<const Tensor> inputs) = 0;
  // A one-line description: "Linear(784, 10)".
  virtual std::string describe() const { return "Module"; }

  // Names are paths: "hidden.weight".
  NamedTensors named_parameters() const { return named(false); }
  NamedTensors named_buffers() const { return named(true); }
  std::vector<Tensor> parameters() const { return tensors(named_parameters()); }
  std::vector<Tensor> buffers() const { return tensors(named_buffers()); }
  int64_t parameter_count() const {
    int64_t count = 0;
    for (const auto& [name, tensor] : named_parameters()) count += tensor.numel();
    return count;
  }
  // The direct parts of this module, by name.
  std::vector<std::pair<std::string, AnyModule*>> named_parts() const {
    std::vector<std::pair<std::string, AnyModule*>> found;
    for (const auto& [name, part] : parts_of(node())) found.emplace_back(name, part->self);
    return found;
  }

  // This module, of path "", and all within it.
  std::vector<std::pair<std::string, AnyModule*>> named_modules() const {
    std::vector<std::pair<std::string, AnyModule*>> found;
    std::set<const void*> seen;
    visit("", node(), [&](const std::string& prefix, detail::Node& node) {
      if (seen.insert(&node).second)
        found.emplace_back(prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1), node.self);
    });
    return found;
  }

  AnyModule& train(bool on = true) {
    visit("", node(), [on](const std::string&, detail::Node& node) { node.training = on; });
    return *this;
  }
  AnyModule& eval() { return train(false); }
  bool training() const { return node().training; }
  // Calls fn for all parts, innermost first, and then for this module.
  AnyModule& apply(const std::function<void(AnyModule&)>& fn) {
    for (const auto& [name, part] : parts_of(node())) part->self->apply(fn);
    fn(*this);
    return *this;
  }
  // Parameters remain the same tensors, so optimizers continue with them. An optimizer's state does not move.
  AnyModule& to(Device device) {
    return replace([device](const Tensor& x) { return x.device() == device ? x : x.to(device); });
  }
  // Converts floating-point tensors only.
  AnyModule& to(DType dtype) {
    return replace(
        [dtype](const Tensor& x) { return tenon::is_floating(x.dtype()) ? x.to(dtype) : x; });
  }
  AnyModule& to(Device device, DType dtype) { return to(device).to(dtype); }
  void zero_grad() {
    for (auto& [name, tensor] : named_parameters()) tensor.zero_grad();
  }
  AnyModule& requires_grad_(bool on = true) {
    for (auto& [name, tensor] : named_parameters()) tensor.requires_grad_(on);
    return *this;
  }

  // Parameters and buffers by path; they share their elements.
  StateDict state_dict() const {
    StateDict state;
    each_slot([&](const std::string& path, const detail::Slot& slot) {
      state[path] = slot.tensor.detach();
    });
    return state;
  }
  // Copies into the parameters and buffers. Checks everything first. `strict`: the names must be the same.
  void load_state_dict(const StateDict& state, bool strict = true);

  // Registers a function that runs before or after forward in a call net(x), in order of registration. Returns a number for remove_hook().
  uint64_t register_forward_pre_hook(ForwardPreHook hook) {
    return add_hook({0, std::move(hook), {}});
  }
  uint64_t register_forward_hook(ForwardHook hook) { return add_hook({0, {}, std::move(hook)}); }
  bool has_hooks() const { return !node().hooks.empty(); }
  void remove_hook(uint64_t id) {
    if (std::erase_if(node().hooks, [id](const detail::Hook& hook) { return hook.id == id; }) == 0)
      throw Error(TN_NOT_FOUND, "[nn] " + describe() + " has no hook " + std::to_string(id));
  }

 protected:
  virtual Tensor call_one(const Tensor& x) {
    const std::vector<Tensor> found = call(std::span(&x, 1));
    if (found.size() != 1)
      throw Error(TN_FAILED_PRECONDITION, "[nn] " + describe() + " returns " +
                                              std::to_string(found.size()) +
                                              " tensors, not one: use call()");
    return found[0];
  }
  // Only for clone().
  AnyModule(const AnyModule& other);

  // Registers a tensor that is trained. If undefined, it only reserves the name.
  Parameter add_parameter(const std::string& name, Tensor tensor) {
    if (tensor.defined() && !tensor.requires_grad()) tensor.requires_grad_();
    return add_slot({name, std::move(tensor)});
  }
  // Registers a tensor that is saved and moved, but not trained.
  Parameter add_buffer(const std::string& name, Tensor tensor,
                       WhenMissing when_missing = WhenMissing::kRefuse) {
    return add_slot({name, std::move(tensor), true, when_missing});
  }
  // Registers a part and returns it, for the field that holds it.
  template <class M>
  [[nodiscard]] M add(const std::string& name, M part) {
    add_part(name, part);
    return part;
  }
  void add_part(const std::string& name, AnyModule& part) {
    check_name(name);
    node().own(name, &part.node());
  }

  // A call of this module: runs fn(args...), its forward, between the hooks. Errors say in which layer they arose.
  template <class Fn, class... Args>
  std::invoke_result_t<Fn&, const Args&...> run(Fn&& fn, const Args&... args) const {
    const detail::Node& own = node();
    try {
      return own.hooks.empty() ? fn(args...) : run_hooked(fn, args...);
    } catch (const Error&) {
      rethrow();
    }
  }

 private:
  using Visitor = std::function<void(const std::string& prefix, detail::Node& node)>;
  static void visit(const std::string& prefix, detail::Node& node, const Visitor& visitor) {
    visitor(prefix, node);
    for (const auto& [name, part] : parts_of(node)) visit(prefix + name + '.', *part, visitor);
  }
  // All of them must still exist.
  static const decltype(detail::Node::parts)& parts_of(const detail::Node& node) {
    for (const auto& [name, part] : node.parts)
      if (part == nullptr)
        throw Error(TN_FAILED_PRECONDITION,
                    "[nn] part \"" + name + "\" of " + node.self->describe() +
                        " was destroyed: keep what add() returns in a field");
    return node.parts;
  }
  // The registered tensors that are defined, by path.
  template <class Fn>
  void each_slot(Fn&& fn) const {
    visit("", node(), [&](const std::string& prefix, detail::Node& node) {
      for (const auto& slot : node.slots)
        if (slot->tensor.defined()) fn(prefix + slot->name, *slot);
    });
  }
  void check_name(const std::string& name) const {
    const bool taken =
        std::ranges::any_of(node().slots, [&](const auto& slot) { return slot->name == name; }) ||
        std::ranges::any_of(node().parts, [&](const auto& part) { return part.first == name; });
    if (name.empty() || name.find('.') != std::string::npos || taken)
      throw Error(
          taken ? TN_ALREADY_EXISTS : TN_INVALID_ARGUMENT,
          "[nn] \"" + name + "\" " +
              (taken ? "is already registered" : "cannot be a name: it is empty or has a dot"));
  }
  Parameter add_slot(detail::Slot slot) {
    check_name(slot.name);
    node().slots.push_back(std::make_unique<detail::Slot>(std::move(slot)));
    return Parameter(node().slots.back().get());
  }
  // Lists a tensor that is registered twice only once.
  NamedTensors named(bool buffers) const {
    NamedTensors found;
    std::set<const void*> seen;
    each_slot([&](const std::string& path, const detail::Slot& slot) {
      if (slot.buffer == buffers && seen.insert(slot.tensor.get()).second)
        found.emplace_back(path, slot.tensor);
    });
    return found;
  }
  static std::vector<Tensor> tensors(const NamedTensors& named) {
    std::vector<Tensor> found;
    for (const auto& [name, tensor] : named) found.push_back(tensor);
    return found;
  }
  AnyModule& replace(const std::function<Tensor(const Tensor&)>& fn);
  static Tensor move_parameter(Tensor x, const std::function<Tensor(const Tensor&)>& fn);
  template <class Fn, class... Args>
  std::invoke_result_t<Fn&, const Args&...> run_hooked(Fn& fn, Args... own) const {
    const std::vector<detail::Hook> hooks = node().hooks;  // they may remove themselves
    std::vector<Tensor> inputs = detail::tensors_of(own...);
    for (const detail::Hook& hook : hooks)
      if (hook.before) hook.before(*node().self, inputs);
    detail::set_tensors(inputs, own...);
    auto result = fn(own...);
    std::vector<Tensor> outputs = detail::tensors_of(result);
    for (const detail::Hook& hook : hooks)
      if (hook.after) hook.after(*node().self, inputs, outputs);
    detail::set_tensors(outputs, result);
    return result;
  }
  // The error that is being handled, extended by the layer where it arose.
  [[noreturn]] void rethrow() const {
    try {
      throw;
    } catch (const detail::LayerError& error) {
      throw error.within(node());
    } catch (const Error& error) {
      throw detail::LayerError(error, describe(), node());
    }
  }
  uint64_t add_hook(detail::Hook hook) {
    hook.id = ++node().hook_count;
    node().hooks.push_back(std::move(hook));
    return node().hook_count;
  }

  detail::Node& node() const {
    if (node_ == nullptr) [[unlikely]]
      throw Error(TN_FAILED_PRECONDITION, "[nn] a module was moved elsewhere: call it there");
    return *node_;
  }
  std::unique_ptr<detail::Node> node_;
};

inline AnyModule::AnyModule(const AnyModule& other) {
  detail::Copying* copying = detail::Copying::current();
  if (copying == nullptr)
    throw Error(TN_FAILED_PRECONDITION,
                "[nn] " + other.describe() +
                    " is not copied when passed by value: move it, or call clone(module)");
  node_ = copying->take(other.node());
  node_->self = this;
}

inline Tensor AnyModule::move_parameter(Tensor x, const std::function<Tensor(const Tensor&)>& fn) {
  const Tensor moved = fn(x), grad = x.grad();
  if (moved.get() == x.get()) return x;
  x.set_data(moved);
  x.set_grad(grad.defined() ? fn(grad) : grad);
  return x;
}

inline AnyModule& AnyModule::replace(const std::function<Tensor(const Tensor&)>& fn) {
  NoGrad guard;
  std::map<tn_tensor*, Tensor> done;    // shared tensors stay shared
  std::map<tn_device*, uint64_t> left;  // bytes
  const auto changed = [&](const Tensor& x) {
    Tensor now = fn(x);
    if (now.get() != x.get())
      left[x.device().get()] += static_cast<uint64_t>(x.numel()) * size_of(x.dtype());
    return now;
  };
  visit("", node(), [&](const std::string&, detail::Node& node) {
    for (const auto& slot : node.slots) {
      Tensor& x = slot->tensor;
      if (!x.defined()) continue;
      Tensor& moved = done[x.get()];
      if (!moved.defined()) moved = slot->buffer ? changed(x) : move_parameter(x, changed);
      x = moved;
    }
  });
  // Else the cache of freed memory would long hold as much again as the module.
  constexpr uint64_t kLarge = 16 << 20;
  for (const auto& [device, bytes] : left)
    if (bytes >= kLarge) Device(device).trim_memory();
  return *this;
}

inline void AnyModule::load_state_dict(const StateDict& state, bool strict) {
  const StateDict own = state_dict();
  std::set<std::string> may_lack;
  each_slot([&](const std::string& path, const detail::Slot& slot) {
    if (slot.when_missing == WhenMissing::kKeep) may_lack.insert(path);
  });
  std::string problems;
  for (const auto& [name, tensor] : own) {
    const auto given = state.find(name);
    if (given == state.end()) {
      if (strict && !may_lack.contains(name)) problems += "; \"" + name + "\" is missing";
    } else if (!std::ranges::equal(given->second.shape(), tensor.shape())) {
      const auto text = [](const Tensor& x) {
        std::string out;
        for (int64_t size : x.shape()) out += (out.empty() ? "" : ", ") + std::to_string(size);
        return '(' + out + ')';
      };
      problems +=
          "; \"" + name + "\" has shape " + text(given->second) + ", expected " + text(tensor);
    }
  }
  for (const auto& [name, tensor] : state)
    if (strict && !own.contains(name)) problems += "; \"" + name + "\" is unknown";
  if (!problems.empty())
    throw Error(TN_INVALID_ARGUMENT, "[load_state_dict] " + problems.substr(2));
  NoGrad guard;
  for (const auto& [name, tensor] : own)
    if (const auto given = state.find(name); given != state.end())
      Tensor(tensor).copy_(given->second);
}

// Derive, register parts where they are declared, and write forward:
//
//   struct Net : nn::Module {
//     nn::Linear hidden = add("hidden", nn::Linear(784, 128));
//     nn::Linear out = add("out", nn::Linear(128, 10));
//     Tensor forward(const Tensor& x) override { return out(hidden(x.flatten(1)).relu()); }
//   };
//
// Modules move; clone(net) makes a copy. ModuleOf takes or gives more than one tensor.
class Module : public AnyModule {
 public:
  virtual Tensor forward(const Tensor&) {
    throw Error(TN_UNIMPLEMENTED, "[nn] " + describe() + " has no forward of one tensor");
  }
  Tensor operator()(const Tensor& x) {
    return run([this](const Tensor& y) { return forward(y); }, x);
  }
  std::vector<Tensor> call(std::span<const Tensor> inputs) override {
    if (inputs.size() != 1)
      throw Error(TN_INVALID_ARGUMENT,
                  "[nn] " + describe() + " takes one tensor, not " + std::to_string(inputs.size()));
    return {(*this)(inputs[0])};
  }

 protected:
  Tensor call_one(const Tensor& x) override { return (*this)(x); }
};

// A copy with its own parameters and buffers. What the module shares, the copy shares. Hooks are copied, gradients are not. Other fields
// are copied as C++ does, so a plain pointer still points to the original.
template <std::derived_from<AnyModule> M>
M clone(const M& module) {
  detail::Copying copying;
  M copy(module);
  copying.finish();
  return copy;
}

// The structure of a network as an indented list.
inline std::string to_string(const AnyModule& module, const std::string& indent = "") {
  std::string out = module.describe();
  const auto parts = module.named_parts();
  if (parts.empty()) return out;
  out += " {\n";
  for (const auto& [name, part] : parts)
    out.append(indent)
        .append("  ")
        .append(name)
        .append(": ")
        .append(to_string(*part, indent + "  "))
        .append("\n");
  return out + indent + '}';
}
inline std::ostream& operator<<(std::ostream& out, const AnyModule& module) {
  return out << to_string(module);
}

}  // namespace tenon::nn
#endif
