// Weights that kernels hold copies of, in layouts of their own.
#pragma once

#include <atomic>

#include "ir/graph.hpp"

namespace tenon::graph {

class Packing {
 public:
  // Those of a graph with its kernels, which outlives it. Throws Error.
  void begin(const Graph& graph);
  // Whether a weight was written to since pack(). [any thread]
  bool stale() const { return versions() != packed_.load(std::memory_order_acquire); }
  // One thread at a time, and not while kernels of the graph run. Throws Error.
  void pack();
  bool empty() const { return nodes_.empty(); }

 private:
  // Versions only grow, so their sum tells of each.
  uint64_t versions() const {
    uint64_t sum = 0;
    for (const tn_tensor* weight : weights_) sum += tn_tensor_version(weight);
    return sum;
  }
  const Graph* graph_ = nullptr;
  std::vector<const Node*> nodes_;
  std::vector<const tn_tensor*> weights_;  // the graph's, each once
  std::atomic<uint64_t> packed_{0};
};

}  // namespace tenon::graph
