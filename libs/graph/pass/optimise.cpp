#include <algorithm>
#include <iterator>

#include "fuse/anchored.hpp"
#include "fuse/fuse.hpp"
#include "pass/pass.hpp"

namespace tenon::graph {

std::vector<std::string> optimise(Graph& graph, const Device& device, bool bound, bool exact) {
  share_equal(graph);
  simplify(graph);
  drop_dead(graph);
  std::vector<std::string> refused;
  if (bound) {
    if (!exact) anchor(graph, device, refused);
    std::ranges::move(fuse(graph, device), std::back_inserter(refused));
    reuse_operands(graph);
  }
  reorder(graph);
  return refused;
}

}  // namespace tenon::graph
