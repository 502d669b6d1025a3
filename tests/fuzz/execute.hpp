// Makes the operands of a call in guarded memory, calls the op, and inspects the results.
#pragma once

#include <functional>

#include "call.hpp"

namespace tenon::fuzz {

struct Counts {
  uint64_t calls = 0;
  uint64_t answered = 0;  // with results
  uint64_t refused = 0;   // with an error of the op
  uint64_t backward = 0;  // gradients that were computed
};

// `found` is called for each fault that did not end the process: an internal error, or a change in memory beside an operand.
void execute(const Signature& signature, const Call& call, Counts& counts,
             const std::function<void(const std::string&)>& found);

}  // namespace tenon::fuzz
