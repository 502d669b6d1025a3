// The tensors, parts and hooks of a module, and how it is copied.
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

// What a strict load does if the state lacks a buffer. Older files may not have it.
enum class WhenMissing { kRefuse, kKeep };

// Called with the tensors among a call's arguments before forward, and also with those of the result afterwards. Assigning to an element of
// the last span replaces that tensor.
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
struct Hook {  // one of the two is set
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
// The node's address stays the same when its module moves. Owners know when a part is gone, which is then null in `parts`.
struct Node : NodeData {
  Node() = default;
  explicit Node(const NodeData& data) : NodeData(data) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() {
    replace_by(nullptr);
    for (const auto& [name, part] : parts)
      if (part != nullptr) std::erase(part->owners, this);
  }
  void own(const std::string& name, Node* part) {
    parts.emplace_back(name, part);
    part->owners.push_back(this);
  }
  // In all owners, for the module that is assigned to this one.
  void replace_by(Node* other) {
    for (Node* owner : owners) {
      for (auto& [name, part] : owner->parts)
        if (part == this) part = other;
      if (other != nullptr) other->owners.push_back(owner);
    }
    owners.clear();
  }
  std::vector<std::unique_ptr<Slot>> slots;
  AnyModule* self = nullptr;
  std::vector<Node*> owners;  // once for each time that one lists this
};

// A path such as "0.hidden", or nothing if it is not inside.
inline std::string path_of(const Node& within, const Node* wanted) {
  for (const auto& [name, part] : within.parts) {
    if (part == nullptr) continue;
    if (part == wanted) return name;
    if (const std::string path = path_of(*part, wanted); !path.empty())
      return std::string(name).append(".").append(path);
  }
  return {};
}

// A clone() in progress. C++ copies modules field by field; the copies look up here which nodes and slots replace the original ones.
class Copying {
 public:
  Copying() : outer_(std::exchange(current_, this)) {}
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;
  ~Copying() { current_ = outer_; }
  static Copying* current() { return current_; }

  // The node for the copy of a module. The first call copies everything inside the module.
  std::unique_ptr<Node> take(const Node& node) {
    const void* made = find(&node);
    for (auto& waiting : waiting_)
      if (made != nullptr && waiting.get() == made) return std::move(waiting);
    copy(node);
    return take(node);
  }
  // A module outside of what is cloned keeps its node.
  Slot* copy_of(Slot* slot) const {
    void* made = find(slot);
    return made == nullptr ? slot : static_cast<Slot*>(made);
  }
  // Called after all copies were made.
  void finish() const {
    for (const auto& waiting : waiting_)
      if (waiting != nullptr)
        throw Error(TN_FAILED_PRECONDITION, "[clone] part \"" + path_of(*root_, waiting.get()) +
                                                "\" cannot be copied: it is neither a field of its "
                                                "owner nor in a container of tenon/nn");
  }

 private:
  void* find(const void* original) const {
    const auto found = copies_.find(original);
    return found == copies_.end() ? nullptr : found->second;
  }
  Node* copy(const Node& node) {
    waiting_.push_back(std::make_unique<Node>(static_cast<const NodeData&>(node)));
    Node* made = waiting_.back().get();
    if (root_ == nullptr) root_ = made;
    copies_[&node] = made;
    for (const auto& slot : node.slots) {
      made->slots.push_back(std::make_unique<Slot>(*slot));
      made->slots.back()->tensor = copy(slot->tensor);
      copies_[slot.get()] = made->slots.back().get();
    }
    for (auto& [name, part] : made->parts) {
      if (part == nullptr) continue;
      void* there = find(part);
      part = there == nullptr ? copy(*part) : static_cast<Node*>(there);
      part->owners.push_back(made);
    }
    return made;
  }
  Tensor copy(const Tensor& tensor) {  // shared tensors stay shared
    if (!tensor.defined()) return {};
    Tensor& made = tensors_[tensor.get()];
    if (!made.defined()) made = tensor.detach().clone().requires_grad_(tensor.requires_grad());
    return made;
  }
  inline static thread_local Copying* current_ = nullptr;
  Copying* outer_;
  const Node* root_ = nullptr;
  std::vector<std::unique_ptr<Node>> waiting_;  // until the copies of their modules take them
  std::map<const void*, void*> copies_;         // original to copy: nodes and slots
  std::map<tn_tensor*, Tensor> tensors_;
};

// An error on its way out through modules. It names the layer where it arose by its path from the outermost module.
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
  const Node* at_;  // the module where the path begins
};

}  // namespace detail
}  // namespace tenon::nn
#endif
