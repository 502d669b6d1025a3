// One backward pass, on the calling thread: nodes in the order of their age, youngest first, each
// when its gradient is complete.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "autograd/node.hpp"
#include "autograd/node_map.hpp"
#include "status.hpp"
#include "tensor/outs.hpp"

namespace tenon::core {

constexpr uint32_t kFewGradients = 4;

// Gradients that have arrived at a node.
struct Pending {
  tn_tensor* few[kFewGradients];
  tn_tensor** many;  // of a node with more results
  tn_tensor** grads() { return many != nullptr ? many : few; }
};

// What gradient() needs from a node.
struct Mark {
  uint32_t capture = 0;  // index + 1 of the first capture at this node
  bool execute = false;  // a node further back is needed
  bool reached = false;
};

// Kept by a thread between runs; nested runs take another.
struct Scratch {
  struct Aged {
    uint64_t sequence;
    Node* node;
    bool operator<(const Aged& other) const { return sequence < other.sequence; }
  };
  struct Visit {
    Node* node;
    uint32_t edge;
  };
  struct Root {
    Edge edge;
    Ref gradient;
  };
  struct Capture {
    Edge edge;
    Ref gradient;
    tn_tensor* input;
    uint32_t next;  // index + 1 of the next at the same node
  };
  NodeMap<Pending> pending;
  std::vector<Aged> heap;
  NodeMap<Mark> marks;
  std::vector<Visit> visits;
  std::vector<Root> roots;
  std::vector<Capture> captures;
  void clear();
};

class Run {
 public:
  explicit Run(uint32_t flags);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  bool create_graph() const { return (flags_ & TN_BACKWARD_CREATE_GRAPH) != 0; }
  bool keeps_graph() const {
    return (flags_ & (TN_BACKWARD_CREATE_GRAPH | TN_BACKWARD_RETAIN_GRAPH)) != 0;
  }
  // Whether a gradient for the node is of use.
  bool wants(const Node* node) const;

  // An output and its gradient.
  void add_root(tn_tensor& output, Ref gradient);
  // Makes it a run of gradient(): only what leads to these is computed, and leaves keep
  // what they have.
  void capture(tn_tensor& input);
  void execute();
  // After execute(): the gradient of an input; zeros when it is reached by undefined ones only,
  // null when it is not reached.
  Ref captured(uint32_t input);

  // Adds two gradients, in place if nobody else holds one of them.
  Ref sum(Ref a, Ref b);
  // Takes out the gradient that has arrived, to add to it and deliver it again; null if others hold it.
  Ref take_sum(Edge edge);
  void accumulate(LeafNode& leaf, Ref gradient);

 private:
  void mark();
  void visit_from(Node* root, uint64_t oldest);
  tn_tensor*& slot(Edge edge);
  void deliver(Edge edge, Ref gradient);
  bool take_next(Node*& node, Pending& arrived);
  void process(Node& node, Pending& arrived);
  void run_hooks(Node& node, tn_tensor** grads);
  void run_step_hooks(Node& node, tn_tensor** grads, tn_tensor** passed);
  void keep_captured(const Mark& mark, tn_tensor** grads);
  void apply(Node& node, tn_tensor** grads);

  uint32_t flags_;
  uint32_t outer_modes_;
  Scratch* scratch_;
  // A pending node outside the map: all there is while the graph is a chain.
  Node* front_node_ = nullptr;
  Pending front_{};
};

// Gives a gradient the shape, dtype and device of what it belongs to: sums over broadcast
// dimensions, takes the real part, casts. Throws where that can't be. `name` and `what` are
// for the error.
Ref conform(Ref gradient, const TensorMeta& want, std::string_view name, std::string_view what);
bool has_nan(tn_tensor& gradient);
// Zeros or ones of a tensor's shape, dtype and device.
Ref constant_like(const TensorMeta& like, double value);

}  // namespace tenon::core
