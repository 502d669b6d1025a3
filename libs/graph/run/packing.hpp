// Weights that kernels keep a copy of, in a layout of their own.
#pragma once

#include <atomic>

#include "ir/graph.hpp"

namespace tenon::graph {

class Packing {
 public:
  // Collects the packed weights of a graph, which must outlive this. Throws Error.
  void begin(const Graph& graph);
  // Whether anyone wrote to a weight since pack(). [any thread]
  bool stale() const { return versions() != packed_.load(std::memory_order_acquire); }
  // Packs all weights. Only one thread may call this, while no kernel of the graph runs. Throws Error.
  void pack();
  bool empty() const { return nodes_.empty(); }

 private:
  // Versions only grow, so their sum changes with every write.
  uint64_t versions() const {
    uint64_t sum = 0;
    for (const tn_tensor* weight : weights_) sum += tn_tensor_version(weight);
    return sum;
  }
  const Graph* graph_ = nullptr;
  std::vector<const Node*> nodes_;
  std::vector<const tn_tensor*> weights_;  // of the graph, each once
  std::atomic<uint64_t> packed_{0};
};

}  // namespace tenon::graph
