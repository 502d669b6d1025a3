// What the passes decided, for reuse in graphs of the same nodes at other sizes.
#pragma once

#include <memory>

#include "ir/graph.hpp"

namespace tenon::graph {

// Everything about a graph except its numbers. Two graphs of one structure call the same ops and kernels on the same buffers.
using Structure = std::vector<uint64_t>;
Structure structure_of(const Graph& graph);

struct Decisions {
  Structure before;  // of the lowered graph
  Structure tidied;  // without nodes that repeat others or change nothing; empty if there are none
  Structure behind;  // of the fused graph after results took over operands' memory
  std::vector<std::vector<uint32_t>> steps;  // nodes that run as one kernel or alone, in order
  std::vector<uint32_t> order;               // in which the steps run
  std::vector<std::string> refused;
  int64_t elements = 0;  // how many elements are computed
};

// The decisions of one program. What pays at one size may not at another, so a decision is reused only at sizes up to four times apart.
class Decided {
 public:
  // For a lowered graph. NULL if nothing was decided yet.
  const Decisions* find(const Structure& structure, int64_t elements) const;
  // Replaces the decisions that were found.
  void keep(Decisions made);

 private:
  std::vector<Decisions> all_;
};

// How many elements the nodes write.
int64_t elements_of(const Graph& graph);

}  // namespace tenon::graph
