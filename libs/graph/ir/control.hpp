// What a node without an op does: it runs graphs of its own, as elements tell.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

class Program;

// Operands of all kinds end with the captures: what the bodies use of the graph around them, each a whole buffer.
struct Control {
  enum class Kind : uint8_t {
    If,  // (predicate, captures): runs bodies[0] where it is true, else bodies[1], of the captures
    Loop,  // (carried, captures): while bodies[0] of them is true, bodies[1] of them gives the next carried
    Scan,  // (carried, scanned, captures): bodies[0] of carried, the next slice of each scanned, captures gives the next carried, and
           // slices of what is stacked
  };
  Kind kind = Kind::If;
  uint32_t carried = 0, scanned = 0;
  std::vector<Graph> bodies = {};
  std::vector<std::string> refused = {};  // of Kind::If, by body: why a run that takes it fails
  std::vector<std::shared_ptr<Program>> programs =
      {};  // of the bodies, where the graph was lowered
};

const char* name_of(Control::Kind kind);
// Whether a body stands for one that cannot be computed.
inline bool is_refused(const Control& control, size_t body) {
  return body < control.refused.size() && !control.refused[body].empty();
}

}  // namespace tenon::graph
