#include "autograd/node.hpp"

#include <algorithm>

#include "autograd/engine.hpp"
#include "dispatch/record.hpp"

namespace tenon::core {

thread_local constinit Tape t_tape TN_TLS = {};

// ---- Memory ------------------------------------------------------------------------------------
namespace {

constexpr size_t kClassBytes[] = {64, 192, 256, 320, 448, 640, 1024};
constexpr uint8_t kLarge = std::size(kClassBytes);
constexpr uint32_t kKeep = 4096;  // blocks of a class that a thread keeps

template <size_t kBytes>
FreeList<kBytes, kKeep>& blocks() {
  static thread_local constinit FreeList<kBytes, kKeep> list TN_TLS;
  return list;
}

// fn of the list that has blocks of this class.
template <uint8_t kClass = 0, class Fn>
auto with_blocks(uint8_t block_class, Fn&& fn) {
  if constexpr (kClass + 1 < kLarge)
    if (block_class != kClass) return with_blocks<kClass + 1>(block_class, fn);
  return fn(blocks<kClassBytes[kClass]>());
}

}  // namespace

void* take_node_memory(size_t bytes, uint8_t& block_class) {
  block_class = 0;
  while (block_class < kLarge && kClassBytes[block_class] < bytes) ++block_class;
  if (block_class == kLarge) return ::operator new(bytes);
  return with_blocks(block_class, [](auto& list) { return list.take(); });
}

void give_node_memory(void* memory, uint8_t block_class) noexcept {
  if (block_class == kLarge) return ::operator delete(memory);
  with_blocks(block_class, [&](auto& list) { list.give(memory); });
}

// ---- Life --------------------------------------------------------------------------------------

Node::~Node() { delete hooks.load(std::memory_order_relaxed); }

void bury(Node* node) noexcept {
  Tape& tape = t_tape;
  node->next_dead = tape.dead;
  tape.dead = node;
  if (tape.freeing) return;  // the loop below is already running, further up the stack
  tape.freeing = true;
  while (tape.dead != nullptr) {
    Node* dead = tape.dead;
    tape.dead = dead->next_dead;
    for (uint32_t e = 0; e < dead->nedges; ++e) release(dead->edges[e].node);
    const uint8_t block_class = dead->block_class;
    dead->~Node();
    give_node_memory(dead, block_class);
  }
  tape.freeing = false;
}

void number_node(Node& node) noexcept {
  uint64_t youngest = t_tape.sequence;
  for (uint32_t e = 0; e < node.nedges; ++e)
    if (const Node* next = node.edges[e].node) youngest = std::max(youngest, next->sequence);
  node.sequence = t_tape.sequence = youngest + 1;
}

// ---- Hooks -------------------------------------------------------------------------------------

void HookList::add(std::shared_ptr<Hook> hook) {
  std::lock_guard guard(lock_);
  hooks_.push_back(std::move(hook));
}

bool HookList::remove(uint64_t id) {
  std::shared_ptr<Hook> removed;  // destroyed after the lock is gone
  std::lock_guard guard(lock_);
  const auto found =
      std::find_if(hooks_.begin(), hooks_.end(), [&](const auto& hook) { return hook->id == id; });
  if (found == hooks_.end()) return false;
  removed = std::move(*found);
  hooks_.erase(found);
  return true;
}

std::vector<std::shared_ptr<Hook>> HookList::all() {
  std::lock_guard guard(lock_);
  return hooks_;
}

HookList& hooks_of(Node& node) {
  HookList* list = node.hooks.load(std::memory_order_acquire);
  if (list != nullptr) return *list;
  auto fresh = std::make_unique<HookList>();
  if (node.hooks.compare_exchange_strong(list, fresh.get(), std::memory_order_acq_rel))
    return *fresh.release();
  return *list;
}

// ---- Leaves ------------------------------------------------------------------------------------
namespace {

// Set in `refs` while a leaf gets a new number.
constexpr uint32_t kBusy = 1u << 31;

// A leaf that no graph uses gets a fresh number, so that its gradient is complete, and its hooks
// run, as early as can be. In a graph of a few nodes that makes no difference.
constexpr uint64_t kFewNodes = 64;

void join_graph(LeafNode& leaf) noexcept {
  uint32_t unused = 1;
  if (leaf.refs.load(std::memory_order_acquire) == 1 &&
      t_tape.sequence - std::atomic_ref(leaf.sequence).load(std::memory_order_relaxed) >
          kFewNodes &&
      leaf.refs.compare_exchange_strong(unused, kBusy | 2, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
    std::atomic_ref(leaf.sequence).store(++t_tape.sequence, std::memory_order_relaxed);
    leaf.refs.fetch_and(~kBusy, std::memory_order_release);
    return;
  }
  uint32_t before = leaf.refs.fetch_add(1, std::memory_order_acquire);
  while ((before & kBusy) != 0) before = leaf.refs.load(std::memory_order_acquire);
}

int64_t* trailing_shape(LeafNode* node) { return reinterpret_cast<int64_t*>(node + 1); }

}  // namespace

LeafNode::LeafNode(tn_tensor& of, uint8_t memory_class)
    : Node(1, nullptr, memory_class), leaf(&of), meta(meta_of_tensor(of)) {
  is_leaf = true;
  meta.shape = trailing_shape(this);
  std::copy_n(of.shape(), of.ndim(), trailing_shape(this));
}

LeafNode::~LeafNode() { tenon::core::release(grad); }

Ref LeafNode::living() {
  std::lock_guard guard(grad_lock);
  if (leaf == nullptr) return Ref();
  // Without references it is about to be abandoned.
  uint32_t refs = leaf->refs.load(std::memory_order_relaxed);
  while (refs != 0 && !leaf->refs.compare_exchange_weak(refs, refs + 1)) continue;
  return refs != 0 ? Ref(leaf) : Ref();
}

Ref LeafNode::get_grad() {
  std::lock_guard guard(grad_lock);
  return Ref::share(grad);
}

void LeafNode::set_grad(Ref fresh) {
  Ref old;  // released after the lock is gone
  std::lock_guard guard(grad_lock);
  old = Ref(std::exchange(grad, fresh.take()));
}

void LeafNode::abandon() noexcept {
  Ref old;
  std::lock_guard guard(grad_lock);
  leaf = nullptr;
  old = Ref(std::exchange(grad, nullptr));
}

AutogradMeta& meta_of(tn_tensor& tensor) {
  if (tensor.meta == nullptr) {
    uint8_t block_class;
    void* memory = take_node_memory(sizeof(AutogradMeta), block_class);
    tensor.meta = new (memory) AutogradMeta(block_class);
  }
  return *tensor.meta;
}

LeafNode& leaf_of(tn_tensor& tensor) {
  AutogradMeta& meta = meta_of(tensor);
  if (meta.leaf == nullptr) {
    uint8_t block_class;
    void* memory =
        take_node_memory(sizeof(LeafNode) + tensor.ndim() * sizeof(int64_t), block_class);
    meta.leaf = new (memory) LeafNode(tensor, block_class);
  }
  return *meta.leaf;
}

void renew_leaf(tn_tensor& tensor) {
  AutogradMeta* meta = tensor.meta;
  if (meta == nullptr || meta->leaf == nullptr) return;
  const NodeRef before(std::exchange(meta->leaf, nullptr));
  LeafNode& fresh = leaf_of(tensor);
  if (std::exchange(meta->borrowed, false)) return;
  fresh.hooks = before->hooks.exchange(nullptr);
  static_cast<LeafNode&>(*before).abandon();
}

Edge gradient_edge(tn_tensor& tensor) {
  if ((tensor.flags & (kRequiresGrad | kIsView)) == 0 || !requires_grad(tensor)) return {};
  if (tensor.grad_fn != nullptr) {
    retain(tensor.grad_fn);
    return {tensor.grad_fn, tensor.output_nr};
  }
  LeafNode* leaf = tensor.meta->leaf;
  join_graph(*leaf);
  return {leaf, 0};
}

void share_gradient(tn_tensor& alias, tn_tensor& leaf) {
  meta_of(alias).borrowed = true;
  retain(static_cast<Node*>(alias.meta->leaf = &leaf_of(leaf)));
  alias.flags |= kRequiresGrad;
}

void release_autograd(tn_tensor* tensor) noexcept {
  release(std::exchange(tensor->grad_fn, nullptr));
  AutogradMeta* meta = std::exchange(tensor->meta, nullptr);
  if (meta == nullptr) return;
  if (meta->leaf != nullptr) {
    if (!meta->borrowed) meta->leaf->abandon();
    release(static_cast<Node*>(meta->leaf));
  }
  tn_tensor* base = meta->base;
  const uint8_t block_class = meta->block_class;
  meta->~AutogradMeta();
  give_node_memory(meta, block_class);
  release(base);
}

}  // namespace tenon::core
