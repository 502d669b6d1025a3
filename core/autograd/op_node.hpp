// The node of a recorded op: the gradient formula, what it saved, and what the call looked like.
#pragma once

#include "autograd/engine.hpp"
#include "autograd/formula.hpp"
#include "dispatch/op.hpp"

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
  TensorMeta* inputs;  // by edge
  TensorMeta* results;
  Saved* saved;

  OpNode(const tn_op& forward, uint32_t nres, uint32_t edge_count, Edge* edge_memory,
         uint8_t memory_class)
      : Node(nres, edge_count, edge_memory, memory_class), op(forward) {}
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

 private:
  Saved few_[8];
  std::vector<Saved> many_;
  Saved* saved_;
  uint32_t n_;
};

// A node under evaluation, as formulas see it.
class OpGradCall final : public GradCall {
 public:
  OpGradCall(OpNode& node, Run& run, const Unpacked& saved, tn_tensor* const* grads,
             tn_tensor** outputs)
      : node_(node), run_(run), saved_(saved), grads_(grads), outputs_(outputs) {}

  const OpNode& node() const { return node_; }
  Tensor grad(uint32_t result) const override;
  Tensor in(uint32_t arg) const override;
  std::vector<Tensor> ins(uint32_t arg) const override;
  Tensor out(uint32_t result) const override;
  bool needs(uint32_t arg) const override;
  bool needs(uint32_t arg, uint32_t entry) const override;
  std::span<const int64_t> shape(uint32_t arg) const override { return shape(arg, 0); }
  std::span<const int64_t> shape(uint32_t arg, uint32_t entry) const override;
  tn_dtype dtype(uint32_t arg) const override;
  uint32_t count(uint32_t arg) const override;
  std::span<const int64_t> result_shape(uint32_t result) const override;
  bool has(uint32_t arg) const override;
  int64_t integer(uint32_t arg) const override { return value(arg).as.i; }
  double real(uint32_t arg) const override;
  bool is_number(uint32_t arg) const override;
  Scalar number(uint32_t arg) const override;
  std::string_view str(uint32_t arg) const override {
    return {value(arg).as.str, value(arg).count};
  }
  std::span<const int64_t> ints(uint32_t arg) const override {
    return {value(arg).as.ints, value(arg).count};
  }
  Device device(uint32_t arg) const override;
  void set(uint32_t arg, Tensor gradient) override { set(arg, 0, std::move(gradient)); }
  void set(uint32_t arg, uint32_t entry, Tensor gradient) override;
  Tensor arrived(uint32_t arg) override;

  const tn_value& value(uint32_t arg) const;
  bool is_tensor(uint32_t arg) const;

 private:
  const TensorMeta* input(uint32_t arg, uint32_t entry) const;  // NULL where there is no tensor
  Tensor unpack(const Saved& saved) const;
  Tensor saved_entry(uint32_t arg, uint32_t entry) const;
  std::string_view arg_name(uint32_t arg) const { return node_.op.schema.args[arg].name; }

  OpNode& node_;
  Run& run_;
  const Unpacked& saved_;
  tn_tensor* const* grads_;
  tn_tensor** outputs_;
};

}  // namespace tenon::core
