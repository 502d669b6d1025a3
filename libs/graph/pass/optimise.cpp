#include <algorithm>
#include <iterator>
#include <numeric>

#include "fuse/anchored.hpp"
#include "fuse/fuse.hpp"
#include "pass/pass.hpp"

namespace tenon::graph {
namespace {

// Puts nodes into the order given by `order`.
void put_in_order(std::vector<Node>& nodes, const std::vector<uint32_t>& order) {
  std::vector<Node> made;
  made.reserve(nodes.size());
  for (const uint32_t at : order) made.push_back(std::move(nodes[at]));
  nodes = std::move(made);
}

// Removes nodes that repeat others or change nothing. Returns false if there are none.
bool tidy(Graph& graph) {
  const size_t count = graph.nodes.size();
  share_equal(graph);
  simplify(graph);
  drop_dead(graph);
  return graph.nodes.size() != count;
}

// Reuses what was decided at other sizes, if it holds at these.
bool take_over(Graph& graph, const Device& device, const Decisions& known) {
  if (!fuse_again(graph, device, known.steps)) return false;
  reuse_operands(graph);
  if (structure_of(graph) == known.behind)
    put_in_order(graph.nodes, known.order);
  else
    put_in_order(graph.nodes, best_order(graph));
  return true;
}

}  // namespace

std::vector<std::string> optimise(Graph& graph, const Device& device, bool bound, Rules rules,
                                  Decided* decided) {
  if (!bound) {
    tidy(graph);
    put_in_order(graph.nodes, best_order(graph));
    return {};
  }
  Decisions made;
  const Decisions* known = nullptr;
  if (decided != nullptr) {
    made.before = structure_of(graph);
    made.elements = elements_of(graph);
    known = decided->find(made.before, made.elements);
    // What could be removed at these sizes alone may stay.
    if (known != nullptr && known->tidied.empty() && take_over(graph, device, *known))
      return known->refused;
  }
  if (tidy(graph) && decided != nullptr) made.tidied = structure_of(graph);
  if (known != nullptr && !made.tidied.empty() && made.tidied == known->tidied &&
      take_over(graph, device, *known))
    return known->refused;
  const bool anchored = !rules.exact && anchor(graph, device, rules.sized, made.refused);
  fuse(graph, device, made);
  reuse_operands(graph);
  made.behind = structure_of(graph);
  made.order = best_order(graph);
  put_in_order(graph.nodes, made.order);
  if (decided == nullptr || anchored) return made.refused;
  std::vector<std::string> refused = made.refused;
  decided->keep(std::move(made));
  return refused;
}

}  // namespace tenon::graph
