// Kernels for groups of nodes, from the device's plugin.
#pragma once

#include <mutex>

#include "fuse/group.hpp"
#include "tenon/ext/draft/graph.h"

namespace tenon::graph {

// The tn.graph interface of the device's plugin, or NULL. Looked up each time, because plugins come and go.
const tn_graph* backend_of(const Device& device);

// A fused kernel, and the nodes that it computes. Frees the kernel.
struct Fused {
  std::vector<Node> nodes;
  tn_kernel kernel{};
  const tn_graph* backend = nullptr;
  uint64_t epoch = 0;      // of the backend
  uint64_t constants = 0;  // of an anchored kernel: a bit for each operand that it keeps a copy of
  // A constant, and its version when it was packed.
  using Packed = std::pair<const tn_tensor*, uint32_t>;
  mutable std::mutex turn;  // held while constants are packed, or shared with another kernel
  mutable std::vector<Packed> packed;  // empty before
  ~Fused();
};

// Of an anchored node, as they are now.
std::vector<Fused::Packed> constants_of(const Graph& graph, const Node& node, uint64_t constants);
// Has an anchored node's kernel copy its constants, unless it did so since they were written to. Not while the kernel runs. Throws Error.
void pack_constants(const Graph& graph, const Node& node);

// A group in the form that the plugin reads. `stored`: by buffer, whether a later node reads it.
class Expression {
 public:
  Expression(const Graph& graph, const Group& group, const std::vector<bool>& stored);
  Expression(const Expression&) = delete;

  const tn_graph_expression& get() const { return expression_; }
  // Whether the rows form one dimension, and what is reduced has no gaps.
  bool has_plain_rows() const;
  // The node that replaces the group, still without a kernel.
  Node node() const;

 private:
  struct Operand {
    Access access;
    DType dtype;
    bool made = false;  // written by a member; otherwise it is loaded
  };
  uint32_t add(tn_graph_node node);
  uint32_t value_of(const Argument& argument, const Access* access);
  void add_member(const Member& member);
  void add_stores(const std::vector<bool>& stored);
  void add_loop();

  const Graph& graph_;
  std::vector<Operand> outputs_, inputs_;
  Dims shape_;
  size_t kept_ = 0;
  bool plain_rows_ = true;
  std::vector<tn_graph_node> nodes_;
  std::vector<std::pair<uint32_t, Operand>>
      current_;  // what views of buffers hold now: the expression's node that gives it
  std::vector<std::vector<tn_value>> values_;  // arguments of nodes
  std::vector<std::vector<uint32_t>> links_;
  std::vector<const int64_t*> strides_;
  std::vector<tn_dtype> dtypes_;
  tn_loop loop_{};
  tn_graph_expression expression_{};
};

}  // namespace tenon::graph
