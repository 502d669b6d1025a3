// Constants of a graph that its trace computed from outside tensors, such as the normalised rows of a weight. They are computed again
// once somebody wrote to those tensors.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "ir/graph.hpp"
#include "trace/host_calls.hpp"

namespace tenon::graph {

class Derived {
 public:
  // What gives the constants of the graph. NULL if none was computed from an outside tensor.
  static std::shared_ptr<Derived> of(const HostCalls& calls, const Graph& graph);
  // Computes the constants again if they are out of date, in their memory. Throws Error. [any thread]
  void refresh() {
    if (versions() != computed_.load(std::memory_order_acquire)) [[unlikely]]
      compute();
  }
  // Whether the memory holds such a constant.
  bool holds(const void* memory) const;

 private:
  struct Step {
    size_t at;  // in the order of the trace
    HostCalls::Call call;
  };
  void add(const HostCalls& calls, const Tensor& constant);
  void compute();
  // Versions only grow, so their sum changes with every write.
  uint64_t versions() const {
    uint64_t sum = 0;
    for (const Tensor& source : sources_) sum += tn_tensor_version(source.get());
    return sum;
  }

  std::vector<Step> steps_;
  std::vector<HostCalls::Copy> copies_;
  std::vector<Tensor> sources_;  // one of each memory
  std::vector<Tensor> constants_;
  std::atomic<uint64_t> computed_{0};
  std::mutex mutex_;
};

// A result as a run gives it. The next run may compute a constant anew, in its place, so that is copied.
Tensor given_out(const Graph& graph, Tensor result);

}  // namespace tenon::graph
