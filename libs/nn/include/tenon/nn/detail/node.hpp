// What a module has: tensors, parts, hooks; and how it is copied.
#ifndef TENON_NN_DETAIL_NODE_HPP
#define TENON_NN_DETAIL_NODE_HPP

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::nn {

class AnyModule;

// What a strict load does about a buffer that the state lacks: older files may not have it.
enum class WhenMissing { kRefuse, kKeep };

// Called with the tensors among the arguments of a call before forward, and also with those of its result after it. Assigning to
// one of the last span replaces it.
using ForwardPreHook = std::function<void(AnyModule& module, std::span<Tensor> inputs)>;
using ForwardHook = std::function<void(AnyModule& module, std::span<const Tensor> inputs,
                                       std::span<Tensor> outputs)>;

namespace detail {

struct Slot {
  std::string name;
  Tensor tensor;
  bool buffer = false;
  WhenMissing when_missing = WhenMissing::kRefuse;
};
struct Hook {  // one of the two
  uint64_t id;
  ForwardPreHook before;
  ForwardHook after;
};
struct NodeData {
  std::vector<std::pair<std::string, struct Node*>> parts;
  std::vector<Hook> hooks;
  uint64_t hook_count = 0;
  bool training = true;
};
// It stays where it is when the module is moved.
struct Node : NodeData {
  Node() = default;
  explicit Node(const NodeData& data) : NodeData(data) {}
  std::vector<std::unique_ptr<Slot>> slots;
  AnyModule* self = nullptr;
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

// A clone() at work. Copies of modules, which C++ makes field by field, find in it what stands for the nodes and slots of the
// original.
class Copying {
 public:
  Copying() : outer_(std::exchange(current_, this)) {}
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;
  ~Copying() { current_ = outer_; }
  static Copying* current() { return current_; }

  // A copy whose parts are still the original's.
  std::unique_ptr<Node> copy(const Node& node) {
    auto made = std::make_unique<Node>(static_cast<const NodeData&>(node));
    for (const auto& slot : node.slots) {
      made->slots.push_back(std::make_unique<Slot>(*slot));
      made->slots.back()->tensor = copy(slot->tensor);
      copies_[slot.get()] = made->slots.back().get();
    }
    copies_[&node] = made.get();
    nodes_.push_back(made.get());
    return made;
  }
  // That of a module that is not copied is its own.
  Slot* copy_of(Slot* slot) const {
    const auto found = copies_.find(slot);
    return found == copies_.end() ? slot : static_cast<Slot*>(found->second);
  }
  // Puts the copies of parts in their places, when all have been made.
  void finish() const {
    for (Node* made : nodes_)
      for (auto& [name, part] : made->parts) {
        const auto found = copies_.find(part);
        if (found == copies_.end())
          throw Error(
              TN_FAILED_PRECONDITION,
              "[clone] part \"" + name +
                  "\" is no field of its owner, nor in a container of tenon/nn: it is not copied");
        part = static_cast<Node*>(found->second);
      }
  }

 private:
  Tensor copy(const Tensor& tensor) {  // shared tensors stay shared
    if (!tensor.defined()) return {};
    Tensor& made = tensors_[tensor.get()];
    if (!made.defined()) made = tensor.detach().clone().requires_grad_(tensor.requires_grad());
    return made;
  }
  inline static thread_local Copying* current_ = nullptr;
  Copying* outer_;
  std::map<const void*, void*> copies_;  // of nodes and slots
  std::vector<Node*> nodes_;
  std::map<tn_tensor*, Tensor> tensors_;
};

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
}  // namespace tenon::nn
#endif
