// Control flow: a node that runs graphs of its own, depending on the elements it reads.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

class Program;

// The operands of every kind end with the captures: buffers of the outer graph that the bodies use, each as a whole.
struct Control {
  enum class Kind : uint8_t {
    If,    // (predicate, captures): runs bodies[0] of the captures if true, else bodies[1]
    Loop,  // (carried, captures): while bodies[0] is true, bodies[1] gives the next carried
    Scan,  // (carried, scanned, captures): bodies[0] takes carried, the next slices and the captures; it gives the next carried and
           // slices of the stacked results
  };
  Kind kind = Kind::If;
  uint32_t carried = 0, scanned = 0;
  std::vector<Graph> bodies = {};
  std::vector<std::string> refused = {};  // for Kind::If, by body: why a run that takes it fails
  std::vector<std::shared_ptr<Program>> programs = {};  // of the bodies, once the graph is lowered
};

const char* name_of(Control::Kind kind);
// Whether this body only reports that it cannot be computed.
inline bool is_refused(const Control& control, size_t body) {
  return body < control.refused.size() && !control.refused[body].empty();
}

}  // namespace tenon::graph
