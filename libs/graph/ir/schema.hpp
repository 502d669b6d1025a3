// What an op's schema says of its arguments.
#pragma once

#include <string>
#include <vector>

#include "tenon/op.h"

namespace tenon::graph {

struct Parameter {
  std::string name;
  bool written = false;    // "Tensor! x"
  bool device = false;     // "device? device=none"
  bool generator = false;  // "generator? generator=none"
};

// By argument; parsed once for each op. [any thread]
const std::vector<Parameter>& parameters(const tn_op& op);

}  // namespace tenon::graph
