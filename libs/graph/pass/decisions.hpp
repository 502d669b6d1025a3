// What the passes decided, for reuse in graphs of the same nodes at other sizes.
#pragma once

#include <memory>

#include "ir/graph.hpp"

namespace tenon::graph {

// Everything about a graph except its numbers. Two graphs of one structure call the same ops and kernels on the same buffers.
using Structure = std::vector<uint64_t>;
Structure structure_of(const Graph& graph);

// Which nodes run as anchored kernels, in a graph whose ops were restored (fuse/anchored.hpp).
struct Anchoring {
  Structure before;
  std::vector<std::vector<uint32_t>>
      chains;  // an anchor, and nodes that each go over the result before
  // By chain: the last kernel that was made. Later ones share its copies of weights.
  std::vector<std::weak_ptr<const Fused>> kernels;
};

struct Decisions {
  Structure before;     // of the lowered graph
  bool tidies = false;  // some nodes repeat others or change nothing
  Structure tidied;     // without those
  bool anchors = false;
  Anchoring anchoring;
  Structure anchored;  // with their kernels
  Structure behind;    // of the fused graph after results took over operands' memory
  std::vector<std::vector<uint32_t>> steps;  // nodes that run as one kernel or alone, in order
  std::vector<uint32_t> order;               // in which the steps run
  std::vector<std::string> refused;
  int64_t elements = 0;  // how many elements are computed
};

// The decisions of one program. What pays at one size may not at another, so a decision is reused only at sizes up to four times apart.
class Decided {
 public:
  // For a lowered graph. NULL if nothing was decided yet.
  Decisions* find(const Structure& structure, int64_t elements);
  // The latest of such a graph, of any size; empty if there is none.
  Anchoring anchoring(const Structure& structure) const;
  // Replaces the decisions that were found.
  void keep(Decisions made);

 private:
  std::vector<Decisions> all_;
};

// How many elements the nodes write.
int64_t elements_of(const Graph& graph);

}  // namespace tenon::graph
