// Makes the operands of a call in guarded memory, calls the op, and looks at what comes back.
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

// `found` is told of what is wrong and did not end the process: internal errors, memory beside an operand that changed.
void execute(const Signature& signature, const Call& call, Counts& counts,
             const std::function<void(const std::string&)>& found);

}  // namespace tenon::fuzz
