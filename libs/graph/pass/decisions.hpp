// What passes decided about a graph, for graphs of the same nodes at other sizes.
#pragma once

#include <memory>

#include "ir/graph.hpp"

namespace tenon::graph {

// All of a graph but its numbers: two of one structure call the same ops and kernels on the same buffers.
using Structure = std::vector<uint64_t>;
Structure structure_of(const Graph& graph);

struct Decisions {
  Structure before, behind;  // of the graph that was fused; with results in the places of operands
  std::vector<std::vector<uint32_t>>
      steps;                    // nodes that run as one kernel or alone, in their order
  std::vector<uint32_t> order;  // of the steps, as they run
  std::vector<std::string> refused;
  int64_t elements = 0;  // of what is computed
};

// Those of one program. What pays at one size need not at another: decisions serve sizes up to four times apart.
class Decided {
 public:
  // NULL where nothing was decided yet.
  const Decisions* find(const Graph& graph) const;
  // In place of those that would have been found.
  void keep(Decisions made);

 private:
  std::vector<Decisions> all_;
};

// Elements that the nodes write.
int64_t elements_of(const Graph& graph);

}  // namespace tenon::graph
