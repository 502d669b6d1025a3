// A network, or a part of one: named parameters, buffers and parts.
#ifndef TENON_NN_MODULE_HPP
#define TENON_NN_MODULE_HPP

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::nn {

class Module;
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using StateDict = std::map<std::string, Tensor>;

// What a strict load does about a buffer that the state lacks: older files may not have it.
enum class WhenMissing { kRefuse, kKeep };

namespace detail {
struct Slot {
  std::string name;
  Tensor tensor;
  bool buffer = false;
  WhenMissing when_missing = WhenMissing::kRefuse;
};
// What a module has; it stays where it is when the module is moved.
struct Node {
  std::vector<std::unique_ptr<Slot>> slots;
  std::vector<std::pair<std::string, Node*>> parts;
  Module* self = nullptr;
  bool training = true;
};

// "0.hidden", or nothing where it is not within.
inline std::string path_of(const Node& within, const Node* wanted) {
  for (const auto& [name, part] : within.parts) {
    if (part == wanted) return name;
    if (const std::string path = path_of(*part, wanted); !path.empty())
      return std::string(name).append(".").append(path);
  }
  return {};
}

// An error on its way out of the modules that were called: it names the layer where it arose by its path from the outermost.
class LayerError : public Error {
 public:
  LayerError(const Error& cause, std::string layer, const Node& at)
      : LayerError(cause.code(), cause.what(), std::move(layer), "", at) {}
  LayerError within(const Node& outer) const {
    const std::string name = path_of(outer, at_);
    const std::string dot = name.empty() || path_.empty() ? "" : ".";
    return {code(), cause_, layer_, name + dot + path_, outer};
  }

 private:
  LayerError(uint32_t code, std::string cause, std::string layer, std::string path, const Node& at)
      : Error(code, path.empty() ? cause : cause + "\n  in layer " + path + ": " + layer),
        cause_(std::move(cause)),
        layer_(std::move(layer)),
        path_(std::move(path)),
        at_(&at) {}
  std::string cause_, layer_, path_;
  const Node* at_;  // where the path begins
};
}  // namespace detail

// A registered tensor of a module: a field that is used like a Tensor, and that to()
// and load_state_dict() reach.
class Parameter {
 public:
  Parameter() = default;
  operator const Tensor&() const { return get(); }
  const Tensor& operator*() const { return get(); }
  Tensor* operator->() const { return &slot().tensor; }
  bool defined() const { return slot_ != nullptr && slot_->tensor.defined(); }
  const Tensor& get() const { return slot().tensor; }
  // Puts another tensor in its place. Optimizers hold the old one.
  void set(Tensor tensor) const { slot().tensor = std::move(tensor); }

 private:
  friend class Module;
  explicit Parameter(detail::Slot* slot) : slot_(slot) {}
  detail::Slot& slot() const {
    if (slot_ == nullptr)
      throw Error(TN_FAILED_PRECONDITION, "[nn] a parameter that was not registered");
    return *slot_;
  }
  detail::Slot* slot_ = nullptr;
};

// Derive, register parts where they are declared, and write forward:
//
//   struct Net : nn::Module {
//     nn::Linear hidden = add("hidden", nn::Linear(784, 128));
//     nn::Linear out = add("out", nn::Linear(128, 10));
//     Tensor forward(const Tensor& x) override { return out(hidden(x.flatten(1)).relu()); }
//   };
//
// Modules move but do not copy. Make optimizers after to().
class Module {
 public:
  Module() : node_(std::make_unique<detail::Node>()) { node_->self = this; }
  Module(Module&& other) noexcept : node_(std::move(other.node_)) { node_->self = this; }
  Module& operator=(Module&& other) noexcept {
    node_ = std::move(other.node_);
    node_->self = this;
    return *this;
  }
  virtual ~Module() = default;

  virtual Tensor forward(const Tensor&) {
    throw Error(TN_UNIMPLEMENTED, "[nn] " + describe() + " has no forward of one tensor");
  }
  Tensor operator()(const Tensor& x) {
    return naming_layers([&] { return forward(x); });
  }
  // One line for people: "Linear(784, 10)".
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
  // Parts of this module by name, without their parts.
  std::vector<std::pair<std::string, Module*>> named_parts() const {
    std::vector<std::pair<std::string, Module*>> found;
    for (const auto& [name, part] : node_->parts) found.emplace_back(name, part->self);
    return found;
  }

  Module& train(bool on = true) {
    visit("", *node_, [on](const std::string&, detail::Node& node) { node.training = on; });
    return *this;
  }
  Module& eval() { return train(false); }
  bool training() const { return node_->training; }
  // Calls fn for the parts, innermost first, then for this module.
  Module& apply(const std::function<void(Module&)>& fn) {
    for (const auto& [name, part] : node_->parts) part->self->apply(fn);
    fn(*this);
    return *this;
  }
  Module& to(Device device) {
    return replace([device](const Tensor& x) { return x.device() == device ? x : x.to(device); });
  }
  // Floating-point tensors only.
  Module& to(DType dtype) {
    return replace(
        [dtype](const Tensor& x) { return tenon::is_floating(x.dtype()) ? x.to(dtype) : x; });
  }
  void zero_grad() {
    for (auto& [name, tensor] : named_parameters()) tensor.zero_grad();
  }
  Module& requires_grad_(bool on = true) {
    for (auto& [name, tensor] : named_parameters()) tensor.requires_grad_(on);
    return *this;
  }

  // Parameters and buffers by path, sharing their elements.
  StateDict state_dict() const {
    StateDict state;
    each_slot([&](const std::string& path, const detail::Slot& slot) {
      state[path] = slot.tensor.detach();
    });
    return state;
  }
  // Copies into the parameters and buffers. Everything is checked first. `strict`: names must
  // be the same.
  void load_state_dict(const StateDict& state, bool strict = true);

 protected:
  // Registers a tensor that is trained; undefined: the name is kept for none.
  Parameter add_parameter(const std::string& name, Tensor tensor) {
    if (tensor.defined() && !tensor.requires_grad()) tensor.requires_grad_();
    return add_slot({name, std::move(tensor)});
  }
  // Registers a tensor that is saved and moved, but not trained.
  Parameter add_buffer(const std::string& name, Tensor tensor,
                       WhenMissing when_missing = WhenMissing::kRefuse) {
    return add_slot({name, std::move(tensor), true, when_missing});
  }
  // Registers a part and gives it back, to initialise the field that holds it.
  template <class M>
  M add(const std::string& name, M part) {
    add_part(name, part);
    return part;
  }
  void add_part(const std::string& name, Module& part) {
    check_name(name);
    node_->parts.emplace_back(name, part.node_.get());
  }

  // What `run` gives. An error of it tells in which layer of this module it arose.
  template <class Run>
  Tensor naming_layers(Run&& run) const {
    try {
      return run();
    } catch (const detail::LayerError& error) {
      throw error.within(*node_);
    } catch (const Error& error) {
      throw detail::LayerError(error, describe(), *node_);
    }
  }

 private:
  using Visitor = std::function<void(const std::string& prefix, detail::Node& node)>;
  static void visit(const std::string& prefix, detail::Node& node, const Visitor& visitor) {
    visitor(prefix, node);
    for (const auto& [name, part] : node.parts) visit(prefix + name + '.', *part, visitor);
  }
  // Those that hold a tensor, by path.
  template <class Fn>
  void each_slot(Fn&& fn) const {
    visit("", *node_, [&](const std::string& prefix, detail::Node& node) {
      for (const auto& slot : node.slots)
        if (slot->tensor.defined()) fn(prefix + slot->name, *slot);
    });
  }
  void check_name(const std::string& name) const {
    const bool taken =
        std::ranges::any_of(node_->slots, [&](const auto& slot) { return slot->name == name; }) ||
        std::ranges::any_of(node_->parts, [&](const auto& part) { return part.first == name; });
    if (name.empty() || name.find('.') != std::string::npos || taken)
      throw Error(taken ? TN_ALREADY_EXISTS : TN_INVALID_ARGUMENT,
                  "[nn] \"" + name + "\" " +
                      (taken ? "is registered already" : "is no name: it is empty or has a dot"));
  }
  Parameter add_slot(detail::Slot slot) {
    check_name(slot.name);
    node_->slots.push_back(std::make_unique<detail::Slot>(std::move(slot)));
    return Parameter(node_->slots.back().get());
  }
  // A tensor registered twice is listed once.
  NamedTensors named(bool buffers) const {
    NamedTensors found;
    std::set<tn_tensor*> seen;
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
  Module& replace(const std::function<Tensor(const Tensor&)>& fn);

  std::unique_ptr<detail::Node> node_;
};

inline Module& Module::replace(const std::function<Tensor(const Tensor&)>& fn) {
  NoGrad guard;
  std::map<tn_tensor*, Tensor> done;  // shared tensors stay shared
  visit("", *node_, [&](const std::string&, detail::Node& node) {
    for (const auto& slot : node.slots) {
      Tensor& x = slot->tensor;
      if (!x.defined()) continue;
      Tensor& moved = done[x.get()];
      if (!moved.defined()) {
        moved = fn(x);
        if (moved.get() != x.get() && x.requires_grad()) {
          moved = moved.detach().requires_grad_();
          if (const Tensor grad = x.grad(); grad.defined()) moved.set_grad(fn(grad));
        }
      }
      x = moved;
    }
  });
  return *this;
}

inline void Module::load_state_dict(const StateDict& state, bool strict) {
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

// The structure of a network as an indented list.
inline std::string to_string(const Module& module, const std::string& indent = "") {
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
inline std::ostream& operator<<(std::ostream& out, const Module& module) {
  return out << to_string(module);
}

}  // namespace tenon::nn
#endif
