// The node of a recorded op: the gradient formula, what it saved, and what the call looked like.
#pragma once

#include "autograd/engine.hpp"
#include "autograd/formula.hpp"
#include "dispatch/op.hpp"
#include "few.hpp"

namespace tenon::core {

constexpr uint32_t kResultBit = 1u << 31;

// A tensor as it was: an alias of its elements without history, so that no cycle arises when the
// tensor is changed in place.
struct Saved {
  tn_tensor* alias;
  uint32_t version;  // of the storage, when it was saved
  uint32_t place;    // index of the edge; of the result, with kResultBit
};

struct OpNode final : Node {
  const tn_op& op;
  uint32_t nargs;
  uint32_t nsaved = 0;
  bool freed = false;  // a run took the saved tensors out
  tn_value* args;      // as the call had them; a tensor (list) holds the index of its first edge in
                       // as.i and their count
  TensorMeta* results;
  Saved* saved;
  const tn_saved_hooks* hooks = nullptr;  // what is saved went through them

  OpNode(const tn_op& forward, uint32_t nres, Edge* edge_memory, uint8_t memory_class)
      : Node(nres, edge_memory, memory_class), op(forward) {}
  ~OpNode() override;
  std::string_view name() const override { return op.name(); }
  void apply(Run& run, tn_tensor* const* grads, tn_tensor** outputs) override;
};

// What an op node saved, taken out of it for one run: shared when the graph is
// kept, moved otherwise.
class Unpacked {
 public:
  Unpacked(OpNode& node, bool keep);
  ~Unpacked();
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;
  const Saved* find(uint32_t place) const;
  const Saved* at(uint32_t index) const { return index < saved_.size() ? &saved_[index] : nullptr; }
  // What the node's hooks kept becomes what was saved.
  void restore(const OpNode& node);

 private:
  Few<Saved, 8> saved_;
};

// A saved tensor as it was; and with its history. Throws if it has changed since.
Ref unchanged(const OpNode& node, const Saved& saved);
Ref with_history(OpNode& node, const Saved& saved);

}  // namespace tenon::core
