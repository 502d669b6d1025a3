// What an op's schema says about its arguments.
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

// By argument. Each op is parsed once. [any thread]
const std::vector<Parameter>& parameters(const tn_op& op);

}  // namespace tenon::graph
