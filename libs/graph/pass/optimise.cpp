#include "fuse/fuse.hpp"
#include "pass/pass.hpp"

namespace tenon::graph {

std::vector<std::string> optimise(Graph& graph, const Device& device, bool bound) {
  share_equal(graph);
  simplify(graph);
  drop_dead(graph);
  std::vector<std::string> refused;
  if (bound) {
    refused = fuse(graph, device);
    reuse_operands(graph);
  }
  reorder(graph);
  return refused;
}

}  // namespace tenon::graph
