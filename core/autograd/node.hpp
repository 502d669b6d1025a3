// Nodes of the tape: one for each recorded op, custom function, and leaf that collects a gradient.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/history.h"
#include "tensor/free_list.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {

class Run;
class HookList;
struct LeafNode;

// Where a gradient goes: result `nr` of a node. A null node wants none.
struct Edge {
  Node* node = nullptr;
  uint32_t nr = 0;
};

// What a node remembers of a tensor that may be freed.
struct TensorMeta {
  const int64_t* shape;
  tn_device* device;  // NULL for an absent entry of a list
  uint8_t ndim;
  uint8_t dtype;
  std::span<const int64_t> sizes() const { return {shape, ndim}; }
};
// It shares the tensor's shape.
inline TensorMeta meta_of_tensor(const tn_tensor& tensor) {
  return {tensor.shape(), tensor.device, static_cast<uint8_t>(tensor.ndim()),
          static_cast<uint8_t>(tensor.dtype())};
}

// For a few instructions at a time.
class SpinLock {
 public:
  void lock() noexcept {
    while (held_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

// A node lives while a tensor it made or a later node refers to it. Memory comes from thread-local
// free lists, one block for the node with its edges and all it copied.
struct Node {
  std::atomic<uint32_t> refs{1};
  uint32_t nresults;    // of the forward op: that many gradients come in
  uint32_t nedges = 0;  // that many go out
  uint8_t block_class;
  bool is_leaf = false;
  SpinLock lock;  // of what a run may take out
  union {
    uint64_t sequence;  // greater than those of all nodes its edges lead to
    Node* next_dead;
  };
  Edge* edges;
  TensorMeta* inputs = nullptr;  // what each edge leads to
  std::atomic<HookList*> hooks{nullptr};

  Node(uint32_t results, Edge* edge_memory, uint8_t memory_class)
      : nresults(results), block_class(memory_class), sequence(0), edges(edge_memory) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node();  // frees what is saved and the hooks; bury() lets go of the edges

  virtual std::string_view name() const = 0;
  // Fills results[e] for edge e with a new reference, or leaves it NULL. grads[k] is NULL where
  // none arrived. Throws Error.
  virtual void apply(Run& run, tn_tensor* const* grads, tn_tensor** results) = 0;
};

// This thread's part of the tape.
struct Tape {
  uint64_t sequence;  // of the youngest node made here
  Node* dead;         // nodes to be freed
  bool freeing;
};
extern thread_local constinit Tape t_tape TN_TLS;

void* take_node_memory(size_t bytes, uint8_t& block_class);
void give_node_memory(void* memory, uint8_t block_class) noexcept;

inline void retain(Node* node) noexcept { node->refs.fetch_add(1, std::memory_order_relaxed); }
// Frees a node, and what only it kept alive, without recursion.
void bury(Node* node) noexcept;
inline void release(Node* node) noexcept {
  if (node == nullptr) return;
  // The only owner needs no atomic write.
  if (node->refs.load(std::memory_order_acquire) == 1 ||
      node->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    bury(node);
}

struct NodeRelease {
  void operator()(Node* node) const noexcept { release(node); }
};
using NodeRef = std::unique_ptr<Node, NodeRelease>;

// Throws for a second run over a node whose saved tensors an earlier one took.
[[noreturn]] void fail_freed(const Node& node);

// How many of these can have a gradient; and the node, which they own from here on, made theirs.
inline uint32_t count_differentiable(tn_tensor* const* outs, uint32_t nouts) noexcept {
  uint32_t n = 0;
  for (uint32_t k = 0; k < nouts; ++k) n += is_differentiable(outs[k]->dtype());
  return n;
}
inline void tie(Node* node, uint32_t differentiable, tn_tensor* const* outs,
                uint32_t nouts) noexcept {
  node->refs.store(differentiable, std::memory_order_relaxed);
  for (uint32_t k = 0; k < nouts; ++k) {
    tn_tensor& out = *outs[k];
    if (!is_differentiable(out.dtype())) continue;
    Node* old = std::exchange(out.grad_fn, node);
    out.output_nr = static_cast<uint16_t>(k);
    out.flags |= kRequiresGrad;
    release(old);
  }
}

// After its edges are set: makes the node younger than all it leads to.
void number_node(Node& node) noexcept;

// A caller's function and its context, which it destroys with the last owner.
template <class Function>
std::shared_ptr<Function> own(const Function& function) {
  return {new Function(function), [](const Function* last) {
            if (last->destroy != nullptr) last->destroy(last->ctx);
            delete last;
          }};
}

// ---- Hooks -------------------------------------------------------------------------------------
struct Hook {
  uint64_t id = 0;
  uint32_t nr = 0;  // of the result whose gradient it sees
  tn_grad_hook_fn run = nullptr;
  tn_step_hook_fn after = nullptr;  // instead of `run`: sees all that the node passes on
  void* ctx = nullptr;
  void (*destroy)(void* ctx) = nullptr;
};

class HookList {
 public:
  void add(std::shared_ptr<Hook> hook);
  bool remove(uint64_t id);
  // A copy, so that hooks may be added and removed while they run.
  std::vector<std::shared_ptr<Hook>> all();

 private:
  SpinLock lock_;
  std::vector<std::shared_ptr<Hook>> hooks_;
};
// The list of a node, made when there is none.
HookList& hooks_of(Node& node);

// ---- What hangs on a tensor --------------------------------------------------------------------

// Collects the gradient of one leaf. Shared by the leaf and the graphs that use it; the gradient
// goes when the leaf does, so that a gradient with a history keeps nothing alive.
struct LeafNode final : Node {
  SpinLock grad_lock;
  tn_tensor* leaf;  // null once it is gone
  tn_tensor* grad = nullptr;
  TensorMeta meta;

  LeafNode(tn_tensor& of, uint8_t memory_class);
  ~LeafNode() override;
  std::string_view name() const override { return "leaf"; }
  void apply(Run&, tn_tensor* const*, tn_tensor**) override {
  }              // Run::accumulate takes the gradient over instead
  Ref living();  // the leaf, null if it is gone
  Ref get_grad();
  void set_grad(Ref grad);
  void abandon() noexcept;
};

struct AutogradMeta {
  LeafNode* leaf = nullptr;                   // of a leaf; an owned reference
  bool borrowed = false;                      // the leaf is that of another tensor
  tn_tensor* base = nullptr;                  // of a view; an owned reference, never itself a view
  std::atomic<const Node*> base_fn{nullptr};  // the base's history when the view's was made
  SpinLock lock;                              // while the view's history is made anew
  uint8_t block_class;
  struct Hooked {
    uint64_t id;
    NodeRef node;
  };
  std::vector<Hooked> hooked;  // where hooks of a non-leaf went
  explicit AutogradMeta(uint8_t memory_class) : block_class(memory_class) {}
};
AutogradMeta& meta_of(tn_tensor& tensor);
LeafNode& leaf_of(tn_tensor& tensor);
// A leaf whose dtype or device changed: its hooks stay, its gradient goes, and graphs recorded before no longer lead to it.
void renew_leaf(tn_tensor& tensor);

// Where the gradient of a tensor goes, with a reference to the node; null when it requires none.
Edge gradient_edge(tn_tensor& tensor);

}  // namespace tenon::core
