// Runs a graph whose sizes vary by calls of the ops that it was recorded with. A run costs more than a planned one, but there is no plan to
// make.
#pragma once

#include "run/replay.hpp"

namespace tenon::graph {

// Serves one run at a time.
class ByCalls {
 public:
  // `whole`: a graph with dims, whose weights are on the device.
  ByCalls(const Graph& whole, Device device);
  ByCalls(const ByCalls&) = delete;

  // Fills in the numbers for these sizes, and this run's symbols. Throws Error.
  void set(const Graph& whole, std::span<const int64_t> dims);
  // The graph at these sizes.
  const Graph& graph() const { return graph_; }
  // There is no control flow; inputs are on the device. On success each entry of `results` is a new reference. Throws Error, after which
  // this is of no more use.
  void run(std::span<tn_tensor* const> inputs, tn_tensor** results);

 private:
  // What happens to temporary buffers at a node.
  struct Life {
    std::vector<uint32_t> begin, end;  // it is the first to use them, or the last
    bool makes = false;                // its results are these, each in a buffer of its own
  };
  void find_lives();
  void run_node(size_t at, Replay& replay);

  Graph graph_;
  std::vector<int64_t> dims_;  // whose numbers it has; empty at first
  Device device_;
  std::vector<Life> lives_;    // by node
  std::vector<Tensor> flats_;  // by buffer
};

}  // namespace tenon::graph
